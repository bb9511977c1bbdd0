/**
 * A client that asks for this WebSocket subprotocol takes several messages in one frame, as a JSON-RPC
 * batch, whenever several are ready. Without it every message is a frame of its own, as generic clients
 * expect (WS-2).
 */
export const BATCH_PROTOCOL = 'fairlead.batch.v1'
