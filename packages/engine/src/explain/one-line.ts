/** Escapes a name chosen by a requester, so that it can neither imitate a line of ours nor move the cursor. */
export function oneLine(text: string): string {
  const escaped = (char: string) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
  return `"${text.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, escaped)}"`
}
