import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The page and the API share one origin: Vite forwards requests for the API,
// WebSockets included. OVATION_URL is where the API is.
const target = process.env['OVATION_URL'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react()],
  server: { proxy: { '/graphql': { target, ws: true } } },
});
