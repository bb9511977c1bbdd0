/** Why the server closes a WebSocket (WS-5). Those from 4000 on are Fairlead's own. */
export const CLOSE = {
  goingAway: 1001,
  internal: 1011,
  tryLater: 1013,
  tokenEnded: 4001,
  tooSlow: 4008,
} as const
