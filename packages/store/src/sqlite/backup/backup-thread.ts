import { serveCalls } from '../../thread/serve-calls.ts'
import { BackupFile } from './backup-file.ts'

serveCalls(({ path }: { readonly path: string }) => new BackupFile(path))
