// Writes the Lua scripts of the limiter into a TypeScript module, so that a bundle of an application has them
// inside; with --check it only says whether the module is what the .lua files would give.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'packages', 'limiter', 'src')
const made = join(source, 'lua-scripts.ts')

/** Each folder of scripts, with the file that stands in front of every other one in it. */
const FOLDERS = {
  LIMIT_SCRIPTS: { folder: 'limits/redis/scripts', shared: 'limit-state' },
  POOL_SCRIPTS: { folder: 'slots/redis/scripts', shared: 'pool-state' },
}
const PRELUDE = 'limits/redis/scripts/prelude.lua'

const text = moduleText()
if (!process.argv.includes('--check')) {
  writeFileSync(made, text)
} else if (readFileSync(made, 'utf8') !== text) {
  console.error('out of date: packages/limiter/src/lua-scripts.ts; run: npm run lua')
  process.exitCode = 1
}

function moduleText() {
  const prelude = read(PRELUDE)
  const parts = [`const PRELUDE = ${literal(prelude)}`]
  for (const [name, { folder, shared }] of Object.entries(FOLDERS)) {
    const before = read(`${folder}/${shared}.lua`)
    const beforeName = constantOf(shared)
    const scripts = readdirSync(join(source, folder))
      .filter((file) => file.endsWith('.lua') && ![`${shared}.lua`, 'prelude.lua'].includes(file))
      .sort()
      .map((file) => {
        const own = read(`${folder}/${file}`)
        const sha = createHash('sha1').update(`${prelude}\n${before}\n${own}`).digest('hex')
        const whole = `\`\${PRELUDE}\\n\${${beforeName}}\\n${escaped(own)}\``
        return `  ${file.replace('.lua', '')}: {\n    sha: '${sha}',\n    text: ${whole},\n  },\n`
      })
    parts.push(`const ${beforeName} = ${literal(before)}`)
    parts.push(
      `/** From \`${folder}\`. */\nexport const ${name} = {\n${scripts.join('')}} as const`,
    )
  }
  const note = '/** Made by `npm run lua` from the .lua files; do not edit. */'
  return `${[note, ...parts].join('\n\n')}\n`
}

function read(path) {
  return readFileSync(join(source, path), 'utf8').replaceAll('\r\n', '\n')
}

function constantOf(name) {
  return name.toUpperCase().replaceAll('-', '_')
}

function literal(lua) {
  return `\`${escaped(lua)}\``
}

/** As it stands inside of backticks. */
function escaped(lua) {
  return lua.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
}
