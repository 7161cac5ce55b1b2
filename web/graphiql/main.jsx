import { createRoot } from 'react-dom/client';
import '@fontsource-variable/bricolage-grotesque/wght.css';
import 'graphiql/style.css';
import '../shared/masthead.css';
import './page.css';
import { Page } from './page.jsx';

createRoot(document.getElementById('root')).render(<Page />);
