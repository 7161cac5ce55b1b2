import { useId, useLayoutEffect, useRef, type ReactNode, type SyntheticEvent } from 'react';
import { Store } from '../api/store';
import { t } from '../messages';
import { Icon } from './icons';

interface Props {
  readonly title: ReactNode;
  readonly shape?: 'drawer' | 'sheet'; // a drawer at the side of the page, or a sheet over most of it
  // beside leaves the rest of the page usable. The dialog takes the focus if it is focused.
  readonly beside?: 'focused' | 'unfocused';
  readonly onClose: () => void;
  readonly children: ReactNode;
}

// dialogs are the open ones, the topmost last. Meanwhile everything else on the page is
// inert, so notices must appear within the topmost one.
export const dialogs = new Store<readonly HTMLElement[]>([]);

// Dialog is a modal window: the browser keeps the focus inside, returns it at the end, and
// closes the window on Escape. A click beside it closes it, too, unless the dialog is one
// beside the rest of the page.
export function Dialog({ title, shape, beside, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const name = useId();
  // Close before React removes the element: otherwise the browser does not return the focus.
  useLayoutEffect(() => {
    const dialog = element.current!;
    if (beside) {
      const before = document.activeElement;
      dialog.show();
      if (beside === 'unfocused' && before instanceof HTMLElement) before.focus({ preventScroll: true });
      return () => dialog.close();
    }
    dialog.showModal();
    dialogs.set([...dialogs.get(), dialog]);
    return () => {
      dialogs.set(dialogs.get().filter((other) => other !== dialog));
      dialog.close();
    };
  }, []);
  // In React these events bubble, also from dialogs that were opened within this one.
  const closeOwn = (event: SyntheticEvent) => {
    if (event.target === element.current) onClose();
  };
  return (
    <dialog
      ref={element}
      className="dialog"
      data-shape={shape}
      data-beside={beside && ''}
      aria-labelledby={name}
      // The close event arrives a frame after the focus is back on the button that opened the
      // dialog. Pressed within that frame, the button would have no effect.
      onCancel={beside ? undefined : closeOwn}
      onClose={beside ? undefined : closeOwn} // the browser need not send a cancel event first
      onPointerDown={beside ? undefined : closeOwn}
      onKeyDown={(event) => beside && event.key === 'Escape' && !event.defaultPrevented && onClose()}
    >
      <div className="dialog-body">
        <div className="dialog-head">
          <h2 id={name}>{title}</h2>
          <button type="button" className="plain" aria-label={t.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
