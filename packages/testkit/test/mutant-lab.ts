import { spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Simulation } from '@fairlead/testkit/simulator'
import type { Mutant } from './mutants.ts'

const root = join(import.meta.dirname, '..', '..', '..')
/** What a simulation needs; all of it finds the others through `node_modules` of the copy. */
const PACKAGES = ['core', 'engine', 'store', 'testkit']

/** How often a mutant's line is in the build. */
export function occurrences({ file, find }: Mutant): number {
  return readFileSync(join(root, 'packages', file), 'utf8').split(find).length - 1
}

/** Simulates a copy of the build with the mutant in it, in a process of its own. */
export async function simulateMutant(mutant: Mutant, steps: number): Promise<Simulation> {
  const folder = copyBuild()
  try {
    const path = join(folder, 'packages', mutant.file)
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(mutant.find, () => mutant.replace),
    )
    const text = await simulateIn(folder, [
      '--seed',
      String(mutant.seed ?? 1),
      '--steps',
      String(steps),
      '--scenario',
      mutant.scenario,
      '--json',
    ])
    return JSON.parse(text) as Simulation
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The built packages, laid out like the workspace, so that they import each other's copies. */
function copyBuild(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-mutant-'))
  mkdirSync(join(folder, 'node_modules', '@fairlead'), { recursive: true })
  for (const name of PACKAGES) {
    const to = join(folder, 'packages', name)
    for (const part of ['package.json', 'dist']) {
      cpSync(join(root, 'packages', name, part), join(to, part), {
        recursive: true,
        filter: (file) => !/\.(map|d\.ts|tsbuildinfo)$/.test(file),
      })
    }
    symlinkSync(to, join(folder, 'node_modules', '@fairlead', name), 'dir')
  }
  // A package of others that the engine loads.
  symlinkSync(join(root, 'node_modules', 'croner'), join(folder, 'node_modules', 'croner'), 'dir')
  return folder
}

function simulateIn(folder: string, args: readonly string[]): Promise<string> {
  const cli = pathToFileURL(join(folder, 'packages/testkit/dist/simulator/cli.js')).href
  const code = `const { runSimulateCommand } = await import(${JSON.stringify(cli)}); process.exitCode = await runSimulateCommand(process.argv.slice(1))`
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, '--', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0 || code === 1) resolve(out)
      else reject(new Error(`the simulator ended with ${code}: ${err}`))
    })
  })
}
