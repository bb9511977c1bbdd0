/** In place of the package `ws`, which is for Node: a browser has a WebSocket of its own. */
export const WebSocket = globalThis.WebSocket
