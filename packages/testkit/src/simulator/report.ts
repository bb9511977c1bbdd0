import { type Failure, RUN_STEPS } from './run.ts'
import { INVARIANTS } from './violation.ts'

/** A failure as people read it: what broke, where, what led to it, and how to see it again. */
export function reportOf(failure: Failure): string {
  const { seed, scenario, step, invariant, message, lines } = failure
  return [
    `FAILED  ${invariant}: ${INVARIANTS[invariant]}`,
    `  what      ${message}`,
    `  where     seed ${seed}, scenario ${scenario}, step ${step}`,
    `  again     ${commandOf(failure)}`,
    '  last steps',
    ...lines.map((line) => `    ${line}`),
  ].join('\n')
}

/** The command that leads to the same failure. */
export function commandOf({ seed, scenario, runSteps }: Failure): string {
  const steps = runSteps === RUN_STEPS ? '' : ` --steps ${runSteps}`
  return `npm run simulate -- --seed ${seed} --scenario ${scenario}${steps}`
}
