/** The first digits of an id, enough to find it again. */
export function shortId(id: string): string {
  return id.length > 16 && id.startsWith('0x') ? `${id.slice(0, 10)}…${id.slice(-4)}` : id
}

/** A check that fails, as people read it. Where all slots are taken there may be none. */
export function refusalWords(check: string, slots: number | null): string {
  if (check !== 'lease_cap_reached') return words(check)
  return slots === 0 ? 'no worker connected' : 'all slots taken'
}

/** Words of the wire as people read them: `lease_cap_reached` is `lease cap reached`. */
export function words(name: string): string {
  return name
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
}
