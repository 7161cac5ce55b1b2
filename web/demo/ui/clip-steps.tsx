import type { CombinedError } from '@urql/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons';
import { Failed } from './pages';

// Step fills a place in the feed without a clip.
export function Step({ icon, children }: { icon: IconName; children: ReactNode }) {
  return (
    <div className="clip-step">
      <Icon name={icon} />
      {children}
    </div>
  );
}

// StepFailed is shown if clips could not be loaded.
export function StepFailed({ error, onAgain }: { error: CombinedError; onAgain: () => void }) {
  return (
    <div className="clip-step">
      <Failed error={error} onAgain={onAgain} />
    </div>
  );
}

// ClipSkeleton is shown while clips are loading.
export function ClipSkeleton() {
  return (
    <div className="clip clip-frame" aria-hidden="true">
      <div className="clip-stage" data-skeleton>
        <div className="clip-words">
          <i />
          <i />
        </div>
      </div>
    </div>
  );
}
