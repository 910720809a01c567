/** Curves over passes, workers or seconds, as an SVG file. */
import { writeFileSync } from 'node:fs'
import { LineChart } from 'echarts/charts'
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'

export interface Line {
  readonly name: string
  /** Heights; at 1, 2, 3 … where `at` does not say. */
  readonly values: readonly number[]
  readonly at?: readonly number[]
}

export interface Axes {
  readonly title: string
  /** What is along the horizontal axis. */
  readonly along: string
}

export function writeLines(path: string, { title, along }: Axes, lines: readonly Line[]): void {
  use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer])
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 720, height: 420 })
  chart.setOption({
    animation: false,
    title: { text: title, left: 'center' },
    legend: { bottom: 0 },
    grid: { left: 60, right: 30, top: 50, bottom: 70 },
    xAxis: { type: 'value', name: along, nameLocation: 'middle', nameGap: 25, min: 'dataMin', max: 'dataMax' },
    yAxis: { type: 'value', scale: true },
    series: lines.map(({ name, values, at }) => ({ name, type: 'line', data: values.map((value, i) => [at?.[i] ?? i + 1, value]) })),
  })
  writeFileSync(path, chart.renderToSVGString())
  chart.dispose()
}
