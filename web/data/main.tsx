import { createRoot } from 'react-dom/client';
import '@fontsource-variable/bricolage-grotesque/opsz.css';
import '../demo/styles/base.css';
import './page.css';
import { App } from './app';

createRoot(document.getElementById('root')!).render(<App />);
