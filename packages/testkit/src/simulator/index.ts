/** The simulator: the real engine among simulated stores, clocks, workers and callers that fail. */
export { runSimulateCommand } from './cli.ts'
export { reportOf } from './report.ts'
export { type Failure, RUN_STEPS, type Run, runSeed, scenarioOf } from './run.ts'
export { type Progress, type Simulation, simulate } from './simulate.ts'
export { INVARIANTS, type InvariantName, Violation } from './violation.ts'
export type { Scenario } from './world/scenario.ts'
export { SCENARIOS } from './world/scenarios.ts'
