import { POLICY_FIELDS, PRESETS, type Preset } from '@fairlead/core'
import {
  type Field,
  flag,
  int,
  names,
  oneOf,
  type SettingsOf,
  type SettingsTable,
} from '@fairlead/core/internal'
import { hooksField } from '../hooks/hook-settings.ts'

const presets = Object.keys(PRESETS) as Preset[]
const backendLosses = ['deny', 'local'] as const
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/**
 * What an installation is beside its policy: default, bounds and purpose of each setting. The sections
 * of the policy stand next to these in the same file.
 */
// biome-ignore format: one setting a line, so that the table can be read as one
export const SETTINGS = {
  preset: oneOf<Preset>('queue', presets, 'defaults of the policy'),
  server: {
    host: text('127.0.0.1', 'address to listen on; any but loopback needs tokens'),
    port: int(7433, { min: 0, max: 65_535 }, 'port to listen on; 0 takes a free one'),
    tlsCert: optional(text('', 'PEM file with the certificate of the server; read again when it changes'), 'clear text'),
    tlsKey: optional(text('', 'PEM file with its key'), 'clear text'),
    tlsClientCa: optional(text('', 'PEM file with the authority whose certificates clients have to show'), 'they show none'),
    allowedOrigins: names([], 'web origins whose pages may call, beside the own one'),
    allowedHosts: names([], 'names of the server beside its addresses, localhost and the machine’s name; * is any'),
    trustedProxies: names([], 'addresses and networks of proxies whose X-Forwarded-For counts'),
    requestsPerSecond: int(20_000, { min: 1, max: 10_000_000 }, 'calls of one token in a second'),
    connectionsMax: int(10_000, { min: 1, max: 1_000_000 }, 'connections at once'),
    connectionsPerAddress: int(2_000, { min: 1, max: 1_000_000 }, 'of these, from one address'),
    connectionsPerToken: int(2_000, { min: 1, max: 1_000_000 }, 'of these, with one token'),
    answerBytesMax: int(8_388_608, { min: 65_536, max: 268_435_456 }, 'bytes of an answer; the rest of a batch is refused'),
    heapSharePercent: int(25, { min: 5, max: 90 }, 'part of the heap that jobs and all else in memory may take before enqueues are refused; a start needs up to three times as much'),
    basePath: optional(basePath('path under which everything is, page and calls, such as /x/y; what a proxy in front passes on'), 'the root'),
    dashboard: flag(true, 'serve the dashboard at /'),
    dashboardPayloads: flag(true, 'show payloads and results of jobs in the dashboard'),
    shutdownMs: int(10_000, { min: 0, max: 600_000 }, 'how long calls under way may take when the server stops'),
  },
  store: {
    path: text('./fairlead.db', 'SQLite file with all state, made where there is none; or postgres://user:password@host:port/database'),
    archive: optional(text('', 'folder for commands that the log does not need any more; personal data is left out'), 'they are not kept'),
    archiveDays: int(90, { min: 1, max: 36_500 }, 'files of the archive that are older are removed'),
    archiveBytes: int(10_737_418_240, { min: 1_048_576, max: 1_125_899_906_842_624 }, 'bytes of all files of the archive; beyond, the oldest are removed'),
  },
  tokens: {
    path: optional(text('', 'file with the hashed tokens'), 'beside the store'),
  },
  log: {
    level: oneOf('info', logLevels, 'what the server logs'),
  },
  telemetry: {
    otlpEndpoint: optional(url(['http:', 'https:'], 'where spans go by OTLP over HTTP'), 'no spans'),
  },
  redis: {
    url: optional(url(['redis:', 'rediss:'], 'Redis server that keeps the limits, for several servers together'), 'they are kept in the store'),
    onBackendLoss: oneOf('deny', backendLosses, 'while Redis is away: nothing is reserved, or each server goes on with its share'),
    instances: optional(int(1, { min: 1, max: 100_000 }, 'how many share the limits on Redis; needed for local'), 'not known'),
  },
  hooks: hooksField(),
  signup: {
    providers: optional(text('', 'YAML file with the booking sites, for serve (budgets) and signup'), 'none'),
    serviceName: text('Fairlead', 'what texts to people call whoever runs this'),
  },
  attestation: {
    roots: optional(text('', 'YAML file with the pinned roots of each class of hardware, as fairlead attest roots prints it'), 'registry.attestation_classes has them'),
  },
  client: {
    url: url(['http:', 'https:', 'ws:', 'wss:'], 'server that commands talk to', 'http://127.0.0.1:7433'),
    token: optional(text('', 'token that commands send'), 'none; enough on loopback without tokens'),
  },
} as const satisfies SettingsTable

export type Settings = SettingsOf<typeof SETTINGS>

/** The sections beside the policy. */
export const OWN_SECTIONS: ReadonlySet<string> = new Set(Object.keys(SETTINGS))

/** Both tables, for whatever treats all settings alike. Each has a part of the section `signup`. */
export const ALL_SETTINGS: SettingsTable = {
  ...SETTINGS,
  ...POLICY_FIELDS,
  signup: { ...SETTINGS.signup, ...POLICY_FIELDS.signup },
}

function text(value: string, purpose: string): Field<string> {
  return {
    default: value,
    expected: 'a text that is not empty',
    purpose,
    read: (written) => (typeof written === 'string' && written !== '' ? written : undefined),
    show: (kept) => kept,
  }
}

function url(schemes: readonly string[], purpose: string, value = ''): Field<string> {
  return {
    default: value,
    expected: `a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`,
    purpose,
    read: (written) => {
      if (typeof written !== 'string' || !URL.canParse(written)) return undefined
      return schemes.includes(new URL(written).protocol) ? written : undefined
    },
    show: (kept) => kept,
  }
}

function basePath(purpose: string): Field<string> {
  return {
    default: '',
    expected: 'a path such as /x/y, of letters, digits and . _ ~ -',
    purpose,
    read: (written) =>
      typeof written === 'string' && BASE_PATH.test(written) ? written : undefined,
    show: (kept) => kept,
  }
}

/** No part of it is a single dot or two. */
const BASE_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/

/** One that may be absent; `null` says so in a file. */
function optional<T>(field: Field<T>, otherwise: string): Field<T | null> {
  return {
    default: null,
    expected: `${field.expected}, or null`,
    purpose: `${field.purpose}; null: ${otherwise}`,
    read: (written) => (written === null ? null : field.read(written)),
    show: (kept) => kept,
  }
}
