import { createRoot } from 'react-dom/client';
import '@fontsource-variable/bricolage-grotesque/opsz.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/card.css';
import './styles/lists.css';
import './styles/dialog.css';
import { App } from './app';

createRoot(document.getElementById('root')!).render(<App />);
