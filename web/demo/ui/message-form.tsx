import { useId, useRef, useState, type FormEvent, type KeyboardEvent } from 'react';
import { t } from '../messages';
import { Icon } from './icons';
import { sends } from './sends';

const maxLength = 2_000; // characters of a message, as the server counts them
const countFrom = 200; // the number left is shown from here on

// MessageForm is the form for a message. Enter sends it, Shift+Enter starts a new line.
export function MessageForm({ to, onSend }: { to: string; onSend: (text: string) => void }) {
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const hint = useId();
  const left = maxLength - [...text].length;
  const fit = text.trim() !== '' && left >= 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!fit) return;
    onSend(text.trim());
    setText('');
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (sends(event)) submit(event);
  };
  return (
    <form className="message-form" onSubmit={submit}>
      <div className="message-field">
        <textarea
          ref={field}
          rows={1}
          value={text}
          dir="auto"
          aria-label={t.chats.messageTo(to)}
          aria-describedby={hint}
          placeholder={t.chats.message}
          enterKeyHint="send"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <button type="submit" className="button strong" aria-label={t.chats.send} disabled={!fit}>
          <Icon name="send" />
        </button>
      </div>
      <p id={hint} className={left < 0 ? 'problem' : 'hint'}>
        {left < countFrom && (left < 0 ? t.charactersTooMany(-left) : t.charactersLeft(left))}
      </p>
    </form>
  );
}
