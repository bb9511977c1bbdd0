import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead registrations show`. */
export const registrationsShow = command({
  name: 'registrations show',
  summary: 'Show a registration: what the person is told, and all that happened.',
  args: [
    { name: '<reference>', text: 'as SCH-7F3K2Q, or the task_id, or its first 8 or more digits' },
  ],
  needs: 'server',
  examples: [['fairlead registrations show SCH-7F3K2Q', 'Its text and its timeline.']],

  async run({ args, client, print, terminal }) {
    const { registrationText } = await import('../show/show-registrations.ts')
    const { resolveRegistration } = await import('../jobs/resolve-task-id.ts')
    const server = await client()
    const id = await resolveRegistration(server, args[0] as string)
    const shown = await server.auditRegistration(id)
    print(shown, registrationText(shown, terminal.colors))
    return EXIT.ok
  },
})
