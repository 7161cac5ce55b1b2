import { useEffect, useId, useRef, type ReactNode } from 'react';
import { Icon } from './icons';

// Dialog is a modal window: the browser keeps the focus inside and gives it
// back, and closes it by Escape. A click beside it closes it too.
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={element}
      className="dialog"
      aria-labelledby={name}
      onClose={onClose}
      onPointerDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div className="dialog-body">
        <header className="dialog-head">
          <h2 id={name}>{title}</h2>
          <button type="button" className="plain" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
