import type { Command } from 'commander'
import type { Terminal } from '../terminal.ts'
export function demo(
  _program: Command,
  _terminal: Terminal,
  _finish: (exit: number) => void,
): void {}
