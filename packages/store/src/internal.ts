/** The seam to SQLite, for the other packages of Fairlead. It may change in any release. */

export { type Database, openDatabase } from './sqlite/driver.ts'
