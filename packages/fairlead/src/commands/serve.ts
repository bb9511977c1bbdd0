import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly host?: string
  readonly port?: string
  readonly store?: string
  readonly preset?: string
  readonly redis?: string
  readonly logLevel?: string
  readonly insecureLocal?: boolean
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly tlsClientCa?: string
  readonly newKey?: boolean
  readonly basePath?: string
  readonly dashboard?: boolean
}

/** `fairlead serve`: the server, until it is told to stop. */
export const serve = command<Flags>({
  name: 'serve',
  summary: 'Run the server on a SQLite file, or on PostgreSQL.',
  details: [
    'All settings can stand in fairlead.yaml, in the environment (queue.batch_size is',
    'FAIRLEAD_QUEUE_BATCH_SIZE) or in --set. A policy that is configured is put in force at each start;',
    'without one, what was set last stays. Where there are tokens, one caller may have a tenth of',
    'queue.max_depth waiting, unless queue.max_per_caller is set.',
    'Without tokens it listens on loopback only, and everybody who reaches it is a local admin. On a store',
    'that had tokens it does not start without them, unless --insecure-local says so.',
    'SIGTERM or Ctrl-C: it takes no more calls, finishes those under way, tells the workers, and ends.',
  ].join('\n'),
  options: [
    { flags: '--host <address>', text: 'address to listen on (127.0.0.1)' },
    { flags: '--port <n>', text: 'port to listen on (7433)' },
    {
      flags: '--store <file>',
      text: 'SQLite file with all state, or postgres://… (./fairlead.db)',
    },
    { flags: '--preset <name>', text: 'defaults of the policy: queue or fund (queue)' },
    { flags: '--redis <url>', text: 'Redis server that keeps the limits (none: the store does)' },
    { flags: '--tls-cert <file>', text: 'certificate of the server in PEM (clear text)' },
    { flags: '--tls-key <file>', text: 'its key in PEM' },
    { flags: '--tls-client-ca <file>', text: 'whose certificates clients have to show (none)' },
    {
      flags: '--insecure-local',
      text: 'start without the tokens that there were: all on this machine are admins',
    },
    {
      flags: '--new-key',
      text: 'make a key where the key file is lost; what was encrypted stays unreadable',
    },
    { flags: '--base-path <path>', text: 'path under which everything is, such as /x/y (none)' },
    { flags: '--no-dashboard', text: 'serve no page, only calls' },
    { flags: '--log-level <level>', text: 'trace, debug, info, warn, error or silent (info)' },
  ],
  needs: 'file',
  examples: [
    ['fairlead serve', 'On 127.0.0.1:7433 with ./fairlead.db.'],
    ['fairlead serve --store /var/lib/fairlead/f.db --host 0.0.0.0', 'For others; needs tokens.'],
    [
      'fairlead serve --host 0.0.0.0 --tls-cert server.pem --tls-key server.key',
      'Over TLS; renewed files are taken without a restart.',
    ],
    [
      'FAIRLEAD_STORE_PATH=postgres://fairlead:…@db/jobs fairlead serve',
      'On PostgreSQL; the environment keeps the password out of lists of processes.',
    ],
    ['fairlead serve --base-path /fairlead', 'Behind a proxy, at a path of its own.'],
    ['fairlead serve --set queue.ack_timeout_ms=2000', 'With another setting.'],
  ],

  async run({ flags, config, isJson, terminal }) {
    const { dashboardLine } = await import('../serve/dashboard-folder.ts')
    const { startServing } = await import('../serve/start-serving.ts')
    const { shownStore } = await import('../storage/store-address.ts')
    const { openTokens } = await import('../tokens.ts')
    const { untilSignal } = await import('../terminal/until-signal.ts')
    const loaded = await config({
      'server.host': { flag: '--host', raw: flags.host },
      'server.port': { flag: '--port', raw: flags.port },
      'store.path': { flag: '--store', raw: flags.store },
      preset: { flag: '--preset', raw: flags.preset },
      'redis.url': { flag: '--redis', raw: flags.redis },
      'server.tls_cert': { flag: '--tls-cert', raw: flags.tlsCert },
      'server.tls_key': { flag: '--tls-key', raw: flags.tlsKey },
      'server.tls_client_ca': { flag: '--tls-client-ca', raw: flags.tlsClientCa },
      'server.base_path': { flag: '--base-path', raw: flags.basePath },
      ...(flags.dashboard === false
        ? { 'server.dashboard': { flag: '--no-dashboard', raw: 'false' } }
        : {}),
      'log.level': { flag: '--log-level', raw: flags.logLevel },
    })
    // Payloads are the owner's only: no file that is made from here on can be read by others.
    process.umask(0o077)
    const stop = untilSignal()
    const tokens = openTokens(loaded)
    // On a screen the notes below say what the log would say again beside them.
    const isWatched = terminal.screen !== null && !isJson
    const serving = await startServing({
      config: loaded,
      tokens,
      isAnnounced: !isWatched,
      isInsecureLocal: flags.insecureLocal === true,
      mayReplaceKey: flags.newKey === true,
    })
    const { path } = loaded.settings.store
    const page = dashboardLine(serving)
    // Standard output has the log, a JSON object a line, and so nothing else.
    if (isJson) {
      const { url, dashboard } = serving
      terminal.out(JSON.stringify({ url, dashboard, store: shownStore(path) }))
    } else terminal.note(`Fairlead serves ${serving.url} on ${shownStore(path)}`)
    if (page !== null) terminal.note(page)
    if (tokens.isEmpty()) {
      terminal.note(
        `There are no tokens in ${tokens.path}: everybody on this machine is a local admin.`,
      )
    }
    if (isWatched) terminal.note('Ctrl-C stops it.')
    await stop.done
    terminal.note('Stopping …')
    await serving.close()
    return EXIT.ok
  },
})
