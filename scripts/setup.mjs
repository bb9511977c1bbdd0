// Brings a checkout to where it can run: the locked packages are installed, what changed is built.
// Needs nothing but Node and npm, does nothing when there is nothing to do, and says what it does in
// a line each. Every npm script that runs the product calls it first.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamps = join(root, 'node_modules', '.fairlead')

refuseOldNode()
step({
  name: 'packages',
  doing: 'installing the locked packages (npm ci)',
  inputs: ['package.json', 'package-lock.json', ...packageFiles('package.json')],
  isThere: () => lockedFolders().every((folder) => existsSync(join(root, folder))),
  run: () => npm('ci', '--no-audit', '--no-fund', '--loglevel=error'),
})
step({
  name: 'build',
  doing: 'building what changed (tsc -b)',
  inputs: ['tsconfig.base.json', 'tsconfig.json', ...projects(), ...sources()],
  isThere: () => outputs().every((file) => existsSync(join(root, file))),
  run: () => {
    removeOrphans()
    // Where an output is gone, what the compiler remembers of the last build is not to be trusted.
    const force = outputs().every((file) => existsSync(join(root, file))) ? [] : ['--force']
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    command(process.execPath, [tsc, '-b', ...force])
  },
})

step({
  name: 'dashboard',
  doing: 'building the dashboard (vite)',
  inputs: ['package-lock.json', ...walk('packages', isOfDashboard)],
  isThere: () => existsSync(join(root, 'packages/dashboard/dist/index.html')),
  run: () => {
    const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
    command(process.execPath, [vite, 'build', '--logLevel', 'warn', 'packages/dashboard'])
  },
})

/** Runs a step unless its result is there and its inputs are what they were then. */
function step({ name, doing, inputs, isThere, run }) {
  const stamp = join(stamps, name)
  const digest = digestOf(inputs)
  if (isThere() && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  const started = performance.now()
  console.error(`setup: ${doing} …`)
  run()
  mkdirSync(stamps, { recursive: true })
  writeFileSync(stamp, digest)
  console.error(`setup: ${name} ready after ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

/** Over names and contents: a checkout may change the times of files without changing them. */
function digestOf(files) {
  const hash = createHash('sha256').update(`node ${process.versions.modules}\n`)
  for (const file of files.sort()) {
    hash
      .update(`${file}\n`)
      .update(readFileSync(join(root, file)))
      .update('\n')
  }
  return hash.digest('hex')
}

function packageFiles(name) {
  return readdirSync(join(root, 'packages'))
    .map((folder) => join('packages', folder, name))
    .filter((file) => existsSync(join(root, file)))
}

/** Where the lock file says that packages are; those for other machines may be missing. */
function lockedFolders() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(packages)
    .filter(([folder, { optional }]) => folder.includes('node_modules') && optional !== true)
    .map(([folder]) => folder)
}

/** What a build makes of each source. */
function outputs() {
  return sources()
    .filter((file) => file.endsWith('.ts') && !file.startsWith('packages/dashboard/'))
    .map((file) =>
      file
        .replace('/src/', '/dist/')
        .replace(/^bench\//, 'bench/dist/')
        .replace(/\.ts$/, '.js'),
    )
}

function projects() {
  return [...packageFiles('tsconfig.json'), join('bench', 'tsconfig.json')]
}

/** The page itself, and the packages that are built into it. */
function isOfDashboard(file) {
  if (!file.startsWith('packages/dashboard/')) {
    return /^packages\/(client|core|protocol)\/src\/.*\.ts$/.test(file) && !/\.test\.ts$/.test(file)
  }
  const isMade = /^packages\/dashboard\/(dist|node_modules|test)(\/|$)/.test(file)
  return !isMade && !/\.test\.ts$/.test(file)
}

function sources() {
  const isSource = (file) => /\.(tsx?|sql)$/.test(file) && !/\.(test|d)\.ts$/.test(file)
  const inPackages = walk('packages', (file) => file.includes('/src/') && isSource(file))
  return [...inPackages, ...walk('bench', (file) => !file.includes('/dist/') && isSource(file))]
}

/** Outputs whose source is gone would still be found by an import. */
function removeOrphans() {
  for (const file of [...walk('packages', isOutput), ...walk('bench', isOutput)]) {
    const source = file.replace(/\.js$/, '.ts')
    const places = [source.replace('/dist/', '/src/'), source.replace('/dist/', '/')]
    if (places.some((place) => existsSync(join(root, place)))) continue
    for (const end of ['.js', '.js.map', '.d.ts', '.d.ts.map']) {
      rmSync(join(root, file.replace(/\.js$/, end)), { force: true })
    }
  }
}

function isOutput(file) {
  return !file.startsWith('packages/dashboard/') && /\/dist\/.*\.js$/.test(file)
}

function walk(folder, wanted) {
  const found = []
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory() && entry.name !== 'node_modules') found.push(...walk(path, wanted))
    else if (wanted(path)) found.push(path)
  }
  return found
}

function npm(...args) {
  // npm tells its scripts where it is; on its own it may be a shell script or a .cmd file.
  const cli = process.env.npm_execpath
  if (cli?.endsWith('.js')) command(process.execPath, [cli, ...args])
  else command(process.platform === 'win32' ? 'npm.cmd' : 'npm', args)
}

function command(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  const name =
    args
      .find((arg) => !arg.startsWith('-'))
      ?.split(sep)
      .at(-1) ?? program
  console.error(`setup: ${name} failed${error ? `: ${error.message}` : '; see above'}`)
  process.exit(1)
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  console.error(`setup: Fairlead needs Node 20.19 or newer, this is ${process.versions.node}`)
  process.exit(1)
}
