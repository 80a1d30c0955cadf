package tile

//go:generate go -C ../../_asm run . -tier avx2 -pkg tile -out ../internal/tile/tile_avx2_amd64.s -stubs ../internal/tile/stubs_avx2_amd64.go
//go:generate go -C ../../_asm run . -tier avx512 -pkg tile -out ../internal/tile/tile_avx512_amd64.s -stubs ../internal/tile/stubs_avx512_amd64.go
//go:generate go -C ../../_asm run . -select ../internal/tile/select_amd64.go
