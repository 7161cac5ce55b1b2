import { useEffect, useRef } from 'react';
import { DropdownMenu, useEditorContext, useExecutionContext } from '@graphiql/react';
import { fill } from './fetcher.js';
import { forms, operationOf } from './copy-as.js';
import { operationAt } from './operation-at.js';

// CopyAs copies the operation at the cursor in a format for another program.
export function CopyAs({ url, viewer, onCopied }) {
  const { queryEditor, variableEditor } = useEditorContext({ nonNull: true });
  const copy = async (form) => {
    try {
      const operation = operationOf(queryEditor.getValue(), atCursor(queryEditor) ?? queryEditor.operationName);
      const given = fill(JSON.parse(variableEditor.getValue().trim() || '{}'));
      const variables = Object.fromEntries(Object.entries(given).filter(([name]) => operation.takes.includes(name)));
      await write(forms[form]({ url, viewer, ...operation, variables }));
      onCopied(`Copied for ${form}`);
    } catch (error) {
      onCopied(`Not copied: ${error.message}`);
    }
  };
  return (
    <DropdownMenu>
      <DropdownMenu.Button className="graphiql-un-styled graphiql-toolbar-menu copy-as">
        Copy as
      </DropdownMenu.Button>
      <DropdownMenu.Content>
        {Object.keys(forms).map((form) => (
          <DropdownMenu.Item key={form} onSelect={() => copy(form)}>
            {form}
          </DropdownMenu.Item>
        ))}
      </DropdownMenu.Content>
    </DropdownMenu>
  );
}

// write copies text to the clipboard. Browsers have the newer API in secure contexts only.
async function write(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.body.appendChild(document.createElement('textarea'));
  area.value = text;
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('the browser refuses it');
}

// Labels names the editors for screen readers.
export function Labels() {
  const { queryEditor, variableEditor, headerEditor, responseEditor } = useEditorContext({ nonNull: true });
  useEffect(() => {
    const labels = [
      [queryEditor, 'Operations'],
      [variableEditor, 'Variables'],
      [headerEditor, 'Headers'],
      [responseEditor, 'Response'],
    ];
    for (const [editor, label] of labels) editor?.getInputField().setAttribute('aria-label', label);
  }, [queryEditor, variableEditor, headerEditor, responseEditor]);
  return null;
}

const atCursor = (editor) => operationAt(editor.getValue(), editor.indexFromPos(editor.getCursor()));

// AtCursor reports the operation at the cursor, so that the button runs it without asking.
export function AtCursor({ onChange }) {
  const { queryEditor } = useEditorContext({ nonNull: true });
  useEffect(() => {
    if (!queryEditor) return undefined;
    const tell = () => onChange(atCursor(queryEditor));
    tell();
    for (const event of ['cursorActivity', 'change']) queryEditor.on(event, tell);
    return () => {
      for (const event of ['cursorActivity', 'change']) queryEditor.off(event, tell);
    };
  }, [queryEditor, onChange]);
  return null;
}

// FirstRun runs the open tab once.
export function FirstRun() {
  const { queryEditor, variableEditor, responseEditor } = useEditorContext({ nonNull: true });
  const { run } = useExecutionContext({ nonNull: true });
  const done = useRef(false);
  useEffect(() => {
    if (done.current || !queryEditor || !variableEditor || !responseEditor) return;
    done.current = true;
    void run();
  }, [queryEditor, variableEditor, responseEditor, run]);
  return null;
}
