import { defineConfig } from 'vite';

/** The address of `npm start`, to which `npx vite` passes requests on. */
const platform = 'http://localhost:3000';

export default defineConfig(({ command }) => ({
  // Relative addresses work under any path prefix.
  base: command === 'serve' ? '/console/' : './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy allows no data: style sheets or scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': platform, '/console/session': platform } },
}));
