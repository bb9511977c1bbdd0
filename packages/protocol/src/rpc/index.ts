/** What both sides of a wire need at run time. It loads no schema library, so a browser can have it. */

export { TOPICS } from '../events/topics.ts'
export { ERROR_NUMBERS, RPC_ERRORS } from './error-numbers.ts'
export {
  completeAnswerToWire,
  completeOfWire,
  completeToWire,
  limitOfWire,
  limitToWire,
  reserveAnswerOfWire,
  reserveAnswerToWire,
  reserveOfWire,
  reserveToWire,
  viewOfWire,
  viewToWire,
} from './limit-names.ts'
export {
  idOf,
  MESSAGE_BYTES_MAX,
  namedParams,
  type RpcErrorObject,
  type RpcFailure,
  type RpcId,
  type RpcRequest,
  type RpcResponse,
  type RpcResult,
  readRequest,
} from './message.ts'
export { errorOfRpc, type RpcErrorData, rpcErrorOf } from './rpc-error.ts'
export { BATCH_PROTOCOL, BEARER_PROTOCOL_PREFIX, PLAIN_PROTOCOL } from './subprotocol.ts'
