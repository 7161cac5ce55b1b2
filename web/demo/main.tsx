import { createRoot } from 'react-dom/client';
import '@fontsource-variable/bricolage-grotesque/opsz.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/card.css';
import './styles/lists.css';
import './styles/dialog.css';
import './styles/comments.css';
import './styles/sheet.css';
import './styles/people.css';
import './styles/account.css';
import './styles/clips.css';
import './styles/player.css';
import './styles/covers.css';
import './styles/upload.css';
import './styles/chat.css';
import { App } from './app';

createRoot(document.getElementById('root')!).render(<App />);
