import { defineConfig } from 'vite'

export default defineConfig({
  // Where the page will be is known when it runs: its files are beside it, under any prefix.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    // The client takes the browser's own WebSocket; the package `ws` is for Node.
    alias: { ws: new URL('src/data/no-ws.ts', import.meta.url).pathname },
    conditions: ['browser', 'module', 'import', 'default'],
  },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
})
