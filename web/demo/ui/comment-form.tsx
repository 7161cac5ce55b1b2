import { useId, type FormEvent, type KeyboardEvent, type ReactNode, type RefObject } from 'react';
import { t } from '../messages';
import { Icon } from './icons';
import { sends } from './sends';

const maxLength = 2_000; // characters of a comment, as the server counts them
const countFrom = 200; // the number left is shown from here on

interface Props {
  readonly label: string;
  readonly text: string;
  readonly send: string;
  readonly busy?: boolean;
  readonly problem?: string;
  readonly field?: RefObject<HTMLTextAreaElement>;
  readonly children?: ReactNode; // shown above the field
  readonly onChange: (text: string) => void;
  readonly onSend: (text: string) => void;
  readonly onCancel?: () => void;
}

// CommentForm is the form for a comment. Enter sends it, Shift+Enter starts a new line.
export function CommentForm({ label, text, send, busy = false, problem = '', field, children, onChange, onSend, onCancel }: Props) {
  const name = useId();
  const left = maxLength - [...text].length;
  const fit = text.trim() !== '' && left >= 0 && !busy;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (fit) onSend(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (sends(event)) submit(event);
    if (event.key !== 'Escape' || !onCancel) return;
    event.preventDefault(); // otherwise it would close the dialog
    onCancel();
  };
  return (
    <form className="comment-form" onSubmit={submit}>
      {children}
      <div className="comment-field">
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label={label}
          aria-invalid={problem !== '' || left < 0}
          aria-describedby={name}
          placeholder={label}
          enterKeyHint="send"
          autoFocus={onCancel !== undefined}
          onChange={(event) => onChange(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {onCancel && (
          <button type="button" className="button quiet" onClick={onCancel}>
            {t.cancel}
          </button>
        )}
        <button type="submit" className="button strong" disabled={!fit} aria-busy={busy}>
          <Icon name="send" />
          {send}
        </button>
      </div>
      <div id={name}>
        {left < countFrom && <p className={left < 0 ? 'problem' : 'hint'}>{left < 0 ? t.charactersTooMany(-left) : t.charactersLeft(left)}</p>}
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
      </div>
    </form>
  );
}
