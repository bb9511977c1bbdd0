// `npm run simulate`: the simulator of packages/testkit from the command line. See docs/simulator.md.
import { runSimulateCommand } from '../packages/testkit/dist/simulator/cli.js'

process.exitCode = await runSimulateCommand(process.argv.slice(2))
