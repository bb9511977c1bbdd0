/**
 * A client that asks for this WebSocket subprotocol takes several messages in one frame, as a JSON-RPC
 * batch, whenever several are ready. Without it every message is a frame of its own, as generic clients
 * expect (WS-2).
 */
export const BATCH_PROTOCOL = 'fairlead.batch.v1'

/** A client without means to batch may say so, or say nothing. */
export const PLAIN_PROTOCOL = 'fairlead.v1'

/**
 * A browser cannot send an Authorization header with a WebSocket: it offers its token as a subprotocol
 * behind this, next to one of the others. The server never chooses it.
 */
export const BEARER_PROTOCOL_PREFIX = 'fairlead.bearer.'
