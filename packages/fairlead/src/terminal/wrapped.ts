/** Columns that every terminal has. */
const COLUMNS = 80

/** Text in lines of at most 80 columns; a line that is broken goes on under its own beginning. */
export function wrapped(text: string, columns = COLUMNS): string {
  return text
    .split('\n')
    .flatMap((line) => wrappedLine(line, columns))
    .join('\n')
}

/** Text whose sentences were broken for the source, with each on one line again. */
export function flowed(text: string): string {
  return text.replaceAll(/([^.\n])\n(?=\S)/g, '$1 ')
}

function wrappedLine(line: string, columns: number): string[] {
  // `  1  meaning`: what follows a number stands under the meaning, not under the number.
  const indent = /^ *(?:\d {2})?/.exec(line)?.[0].length ?? 0
  const lines: string[] = []
  let current = ''
  for (const word of line.slice(indent).split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`
    if (indent + longer.length > columns && current !== '') {
      lines.push(current)
      current = word
    } else current = longer
  }
  lines.push(current)
  return lines.map((part, i) => (i === 0 ? line.slice(0, indent) : ' '.repeat(indent)) + part)
}
