import { resolve } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `npm run build` builds the dashboard into dist/web. For `vite --config web/vite.config.ts`, RETINUE_SERVER names a running `retinue serve`.
const server = process.env.RETINUE_SERVER;

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: resolve(import.meta.dirname, '../dist/web'),
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: true,
    // The content security policy allows fonts and scripts from files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  ...(server === undefined ? {} : { server: { proxy: { '/api': { target: server, changeOrigin: true } } } }),
});
