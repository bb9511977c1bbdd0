import { BackupFile } from './backup-file.ts'
import { serveCalls } from './serve-calls.ts'

serveCalls(({ path }: { readonly path: string }) => new BackupFile(path))
