import { createRoot } from 'react-dom/client';
import '@fontsource-variable/bricolage-grotesque/opsz.css';
import '../shared/base.css';
import '../shared/masthead.css';
import './styles/masthead.css';
import './styles/shell.css';
import './styles/card.css';
import './styles/lists.css';
import './styles/dialog.css';
import './styles/comments.css';
import './styles/sheet.css';
import './styles/people.css';
import './styles/search.css';
import './styles/account.css';
import './styles/clips.css';
import './styles/player.css';
import './styles/covers.css';
import './styles/upload.css';
import './styles/chat.css';
import { App } from './app';
import { loadLanguage, t } from './messages';

// The rest cannot wait for it at the top level: the messages of a language import from this
// module's chunk.
void loadLanguage(navigator.languages)
  .catch(() => {}) // the page is then in English
  .then(() => {
    document.documentElement.lang = t.lang;
    createRoot(document.getElementById('root')!).render(<App />);
  });
