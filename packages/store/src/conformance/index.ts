export { type LogFault, type LogSubject, logConformance, type OpenLog } from './log-conformance.ts'
export { type OpenTables, tablesConformance } from './tables-conformance.ts'
