import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import { FairleadError } from '@fairlead/core'

/** A file of the page, as it is sent. */
export interface PageFile {
  readonly type: string
  readonly etag: string
  readonly bytes: Uint8Array
  /** Null where packing it gains nothing. */
  readonly gzipped: Uint8Array | null
  /** Its name changes with its content, so that nobody needs to ask for it again. */
  readonly isImmutable: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
}
const PACKED: ReadonlySet<string> = new Set(['.html', '.js', '.css', '.json', '.txt', '.svg'])
/** As a bundler names files: a dash and eight characters of a hash. */
const HASHED = /^\/assets\/.+-[A-Za-z0-9_-]{8}\.[a-z0-9]+$/
const BYTES_MAX = 16_777_216
const HEAD = '<head>'

/** The built page, in memory. Only what was in its folder at the start can be asked for (PAGE-1). */
export class PageFiles {
  readonly #files: ReadonlyMap<string, PageFile>
  readonly index: PageFile

  private constructor(files: ReadonlyMap<string, PageFile>, index: PageFile) {
    this.#files = files
    this.index = index
  }

  /** Reads a folder. `base` is the path of the page, which its own addresses are relative to. */
  static read(folder: string, base: string): PageFiles {
    const files = new Map<string, PageFile>()
    let total = 0
    for (const path of filesIn(folder)) {
      const type = TYPES[extname(path)]
      // What has no type on the list, such as a source map, is not served.
      if (type === undefined) continue
      const name = `/${relative(folder, path).split(sep).join('/')}`
      const written = readFileSync(path)
      total += written.length
      if (total > BYTES_MAX) throw tooLarge(folder)
      const bytes = name === '/index.html' ? withBase(written, base) : written
      files.set(name, fileOf(name, type, bytes))
    }
    const index = files.get('/index.html')
    if (index === undefined) throw notBuilt(folder)
    return new PageFiles(files, index)
  }

  /** `path` as it was asked for: a name that is no file of the page is not looked for anywhere else. */
  get(path: string): PageFile | undefined {
    return path === '/' ? this.index : this.#files.get(path)
  }
}

function fileOf(name: string, type: string, bytes: Buffer): PageFile {
  const packed = PACKED.has(extname(name)) ? gzipSync(bytes, { level: 9 }) : null
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return {
    type,
    etag: `"${digest}"`,
    bytes,
    gzipped: packed !== null && packed.length < bytes.length ? packed : null,
    isImmutable: HASHED.test(name),
  }
}

/** The page is the same at every depth, so its relative addresses have to count from its root. */
function withBase(html: Buffer, base: string): Buffer {
  const text = html.toString('utf8')
  if (!text.includes(HEAD)) return html
  return Buffer.from(text.replace(HEAD, `${HEAD}<base href="${base}/">`))
}

function filesIn(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw notBuilt(folder)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  // No links: what is served lies in the folder.
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

function notBuilt(folder: string): FairleadError {
  const text = `dashboard: there is no built page in ${folder}; expected its index.html there`
  return new FairleadError('InvalidParams', text, { field: 'dashboard' })
}

function tooLarge(folder: string): FairleadError {
  const text = `dashboard: the files in ${folder} are more than ${BYTES_MAX} bytes; expected a built page`
  return new FairleadError('InvalidParams', text, { field: 'dashboard' })
}
