import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead registrations cancel`. */
export const registrationsCancel = command({
  name: 'registrations cancel',
  summary: 'Take a registration out of its line. What is booked by then stays booked.',
  details:
    'One that has ended with an unknown outcome keeps its place, so that nobody is booked twice. Cancel it when the site says that it did not book.',
  args: [
    { name: '<reference>', text: 'as SCH-7F3K2Q, or the task_id, or its first 8 or more digits' },
  ],
  needs: 'server',
  examples: [
    ['fairlead registrations cancel SCH-7F3K2Q', 'Ends with 3 if it has ended otherwise.'],
  ],

  async run({ args, client, print }) {
    const { resolveRegistration } = await import('../jobs/resolve-task-id.ts')
    const server = await client()
    const id = await resolveRegistration(server, args[0] as string)
    const canceled = await server.cancelRegistration(id)
    const { reference, status, is_noted } = canceled
    const text = is_noted
      ? `${reference} is ${status}: an attempt is under way. It is canceled if that does not book.`
      : status === 'CANCELED'
        ? `${reference} is CANCELED.`
        : `${reference} stays ${status}, and has given up its place: its user may sign up again.`
    print(canceled, text)
    return EXIT.ok
  },
})
