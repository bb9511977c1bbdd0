import { FairleadError, readSettlement, type Settlement } from '@fairlead/core'
import { misuse } from '../flags/flags.ts'
import { readFile } from '../flags/read-input.ts'

/** The batch, or the payouts of a provider, in a file (SETTLE-17, SETTLE-18). Only its form is checked. */
export function readSettlementFile(file: string): Settlement {
  let json: unknown
  try {
    json = JSON.parse(Buffer.from(readFile(file)).toString('utf8'))
  } catch (error) {
    if (error instanceof FairleadError) throw error
    throw misuse(`${file}: expected JSON; ${(error as Error).message}`)
  }
  try {
    return readSettlement(json)
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code !== 'InvalidParams') throw error
    throw new FairleadError(error.code, `${file}: ${error.message}`, error.details)
  }
}
