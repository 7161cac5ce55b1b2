import { useId, useLayoutEffect, useRef, type ReactNode } from 'react';
import { Store } from '../api/store';
import { Icon } from './icons';

interface Props {
  readonly title: ReactNode;
  readonly shape?: 'drawer' | 'sheet'; // at the side of the page; over most of it
  readonly onClose: () => void;
  readonly children: ReactNode;
}

// dialogs are the open ones, the topmost last. All else on the page is inert
// meanwhile, so that notices have to appear in it.
export const dialogs = new Store<readonly HTMLElement[]>([]);

// Dialog is a modal window: the browser keeps the focus inside and gives it
// back, and closes it by Escape. A click beside it closes it too.
export function Dialog({ title, shape, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const name = useId();
  // Closed before React removes it: the browser gives the focus back then only.
  useLayoutEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    dialogs.set([...dialogs.get(), dialog]);
    return () => {
      dialogs.set(dialogs.get().filter((other) => other !== dialog));
      dialog.close();
    };
  }, []);
  return (
    <dialog
      ref={element}
      className="dialog"
      data-shape={shape}
      aria-labelledby={name}
      // React has this event bubble, from dialogs that were opened in this one.
      onClose={(event) => event.target === element.current && onClose()}
      onPointerDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div className="dialog-body">
        <div className="dialog-head">
          <h2 id={name}>{title}</h2>
          <button type="button" className="plain" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
