import type { Command } from '../command.ts'
import { conformance } from './conformance.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'

/** Every command, in the order in which `--help` lists them. */
export const COMMANDS: readonly Command<never>[] = [demo, doctor, conformance]

/** Commands that others stand under. */
export const GROUPS: Readonly<Record<string, { readonly summary: string }>> = {
  jobs: { summary: 'List, show, watch, cancel and retry jobs.' },
  policy: { summary: 'Show, check and change the policy.' },
  providers: { summary: 'List and show providers, and change their status.' },
  token: { summary: 'Create, list and revoke tokens.' },
  audit: { summary: 'List, verify and export the audit log.' },
}
