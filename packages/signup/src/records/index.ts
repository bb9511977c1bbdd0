/** What is known of a registration and told about it. Pure: for the executor and for whoever shows it. */
export { dateText } from './date-text.ts'
export { type MessageName, messageFor, type Names, orderMessage } from './messages.ts'
export {
  type LeaseFacts,
  type Receipt,
  type ReceiptInput,
  type ReceiptResult,
  receiptOf,
} from './receipt.ts'
export { freeReference, readReference, referenceOf } from './reference.ts'
export {
  decodeOutput,
  encodeOutput,
  type FeeStatus,
  type RegistrationOutput,
} from './registration-output.ts'
