import { createRoot } from 'react-dom/client';
import 'graphiql/style.css';
import './page.css';
import { Page } from './page.jsx';

createRoot(document.getElementById('root')).render(<Page />);
