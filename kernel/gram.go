package kernel

import "github.com/difalt/difalt/kernel/blas"

// MulTransposed computes v = X_t' e for the n_t samples of a task. v gets
// blas.Pad(d) entries, the last of which are zero.
func (t *Tasks) MulTransposed(v []float64, task int, e []float64) {
	if uint(task) >= uint(len(t.rows)) {
		panic(badIndex)
	}
	if len(e) < t.rows[task] || len(v) < blas.Pad(t.d) {
		panic(badRow)
	}
	defer t.keep()
	var x samples
	x.take(t, task, 1, nil)
	x.mulTransposed(v, e)
}

// GramProduct computes G = sum_t X_t' X_t U over all samples of all tasks without
// forming X_t' X_t. With theta_1, theta_2, ... as the samples it is the product
// Theta Theta' U of the power iteration (Alg. 2, line 11). g must not be u. It
// allocates a workspace if ws is nil, and nothing otherwise.
func (t *Tasks) GramProduct(g, u *Basis, ws *Workspace) {
	if g == u {
		panic(aliased)
	}
	if ws == nil {
		ws = NewWorkspace(t.maxRows, u.d, u.r)
	}
	if u.d != t.d || g.d != t.d || g.r != u.r || (ws.maxSamples == 0 && t.maxRows > 0) || !ws.fits(0, u.d, u.r) {
		panic(badGroup)
	}
	clear(g.data)
	defer t.keep()
	ws.begin()
	ws.load(u)
	var rows samples
	for task := range t.rows {
		for i := 0; i < t.rows[task]; i += ws.maxSamples {
			rows.slice(t, task, i, min(i+ws.maxSamples, t.rows[task]), u.r, ws.schedule)
			rows.mulBasis(ws, u)
			next := rows.gradientNext.Next
			for j := range u.r {
				rows.mulTransposed(ws.v, ws.a[j*ws.lda:])
				rows.gradientNext.Next = 0 // once is enough
				gj := g.data[j*g.stride:][:blas.Pad(t.d)]
				for k, v := range ws.v[:len(gj)] {
					gj[k] += v
				}
			}
			rows.gradientNext.Next = next
		}
	}
}
