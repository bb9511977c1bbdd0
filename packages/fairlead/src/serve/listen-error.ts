import { FairleadError } from '@fairlead/core'

const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; stop it, or choose another port with --port',
  EACCES: 'this user may not listen there; choose a port from 1024 on with --port',
  EADDRNOTAVAIL: 'this machine has no such address; choose another with --host',
  ENOTFOUND: 'there is no such name; choose an address with --host',
}

/** What is wrong with an address, and what to do; any other error as it is. */
export function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const advice = ADVICE[error.code ?? '']
  if (advice === undefined) return error
  return new FairleadError('InvalidParams', `cannot listen on ${host}:${port}: ${advice}`, {
    field: 'server.port',
  })
}
