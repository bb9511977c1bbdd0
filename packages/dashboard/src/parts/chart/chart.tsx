import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import { theme, zone } from '../../data/preferences.ts'
import { clockText } from '../../text/times.ts'

export interface Series {
  readonly name: string
  /** A colour of the page, as in `--used`. */
  readonly color: string
  readonly values: readonly number[]
}

const HEIGHT_PX = 160

/** Lines over time. The label says in words what they show, for those who cannot see them. */
export function Chart(props: {
  readonly label: string
  readonly times: readonly number[]
  readonly series: readonly Series[]
}): JSX.Element {
  const { label, times, series } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | null>(null)
  const data = [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])]
  const names = series.map(({ name, color }) => `${name} ${color}`).join()
  const look = `${theme.value} ${zone.value} ${names}`
  useEffect(() => {
    const box = place.current
    if (box === null) return
    const draw = (): void => {
      plot.current?.destroy()
      plot.current = new UPlot(optionsOf(box, series), data as UPlot.AlignedData, box)
    }
    draw()
    const resized = new ResizeObserver(() => {
      if (plot.current?.width !== box.clientWidth) {
        plot.current?.setSize({ width: box.clientWidth, height: HEIGHT_PX })
      }
    })
    resized.observe(box)
    const darkness = matchMedia('(prefers-color-scheme: dark)')
    darkness.addEventListener('change', draw)
    return () => {
      resized.disconnect()
      darkness.removeEventListener('change', draw)
      plot.current?.destroy()
      plot.current = null
    }
  }, [look])
  useEffect(() => {
    plot.current?.setData(data as UPlot.AlignedData)
  })
  return (
    <figure>
      <div class="chart" ref={place} role="img" aria-label={label} />
      <figcaption class="key">
        {series.map(({ name, color }) => (
          <span key={name}>
            <i style={{ background: `var(${color})` }} />
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function optionsOf(box: HTMLElement, series: readonly Series[]): UPlot.Options {
  const color = (name: string): string => resolved(box, name)
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
  }
  return {
    width: box.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 8, 0, 0],
    cursor: { show: false },
    legend: { show: false },
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] } },
    axes: [
      {
        ...axis,
        space: 90,
        values: (_, at) => at.map((secs) => clockText(secs * 1_000, zone.value).slice(0, 5)),
      },
      { ...axis, size: 44, space: 32 },
    ],
    series: [
      {},
      ...series.map(({ name, color: own }) => ({
        label: name,
        stroke: color(own),
        width: 1.5,
        points: { show: false },
      })),
    ],
  }
}

/** A canvas does not know `light-dark()`: the browser is asked what it comes to. */
function resolved(box: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  box.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
