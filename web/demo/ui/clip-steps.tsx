import type { CombinedError } from '@urql/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons';
import { Failed } from './pages';

// Step stands in the feed where no clip does.
export function Step({ icon, children }: { icon: IconName; children: ReactNode }) {
  return (
    <div className="clip-step">
      <Icon name={icon} />
      {children}
    </div>
  );
}

// StepFailed stands where clips could not be read.
export function StepFailed({ error, onAgain }: { error: CombinedError; onAgain: () => void }) {
  return (
    <div className="clip-step">
      <Failed error={error} onAgain={onAgain} />
    </div>
  );
}

// ClipSkeleton stands where clips are on their way.
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
