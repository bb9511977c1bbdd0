/** Fairlead on the network: give it an engine, get a URL. */

export type { AuditedToken, Identity, TokenRecord, TokenStore } from './auth/identity.ts'
export type { TokenScope } from './auth/scope.ts'
export { type NewToken, TokenFile } from './auth/token-file.ts'
export { EventHub } from './events/event-hub.ts'
export type { EventEntry } from './rpc/message-format.ts'
export { TlsFiles, type TlsPaths } from './http/tls-files.ts'
export { DEFAULT_LIMITS, type ServerLimits } from './limits.ts'
export { createLogger, type Logger } from './log.ts'
export { MeteredStore } from './metrics/metered-store.ts'
export type { ServerOptions } from './server-options.ts'
export { type RunningServer, refuseAddress, refuseOpen, startServer } from './start-server.ts'
export { CLOSE } from './ws/close-codes.ts'
