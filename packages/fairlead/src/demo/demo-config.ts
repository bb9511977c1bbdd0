import { join } from 'node:path'
import { type Config, loadConfig } from '../config/load-config.ts'

/** The configuration of a demo: nothing but its folder, its port and its preset. */
export function demoConfig(
  folder: string,
  port: number,
  preset: 'queue' | 'fund' = 'queue',
): Config {
  return loadConfig({
    env: {},
    cwd: folder,
    named: {
      'store.path': { flag: '--dir', raw: join(folder, 'fairlead.db') },
      'server.port': { flag: '--port', raw: String(port) },
      preset: { flag: '--fund', raw: preset },
    },
  })
}
