import { createRoot } from 'react-dom/client';
import '@fontsource-variable/bricolage-grotesque/opsz.css';
import '../shared/base.css';
import '../shared/masthead.css';
import './page.css';
import { App } from './app';

createRoot(document.getElementById('root')!).render(<App />);
