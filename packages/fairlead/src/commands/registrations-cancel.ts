import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead registrations cancel`. */
export const registrationsCancel = command({
  name: 'registrations cancel',
  summary: 'Take a registration out of its line. What is booked by then stays booked.',
  args: [{ name: '<reference>', text: 'as SCH-7F3K2Q, or the task_id' }],
  needs: 'server',
  examples: [
    ['fairlead registrations cancel SCH-7F3K2Q', 'Ends with 3 if it has ended otherwise.'],
  ],

  async run({ args, client, print }) {
    const canceled = await (await client()).cancelRegistration(args[0] as string)
    const { reference, status, is_noted } = canceled
    const text = is_noted
      ? `${reference} is ${status}: an attempt is under way. It is canceled if that does not book.`
      : `${reference} is ${status}.`
    print(canceled, text)
    return EXIT.ok
  },
})
