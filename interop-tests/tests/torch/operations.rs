//! Operations of tch, generated ones and its own: those that only read their inputs, and those that write the first
//! one.

use super::sealed::{Inputs, Operation};
use super::*;
use tch::Reduction::{Mean, Sum};

type Run = fn(&Inputs) -> Result<Torch, tch::TchError>;

/// `name: result` for each, where the result is made of what the inputs give.
macro_rules! operations {
    ($inputs:ident => $($name:literal: $result:expr,)*) => {{
        const LIST: &[Operation] = &[$(Operation { name: $name, run: { const RUN: Run = |$inputs| Ok($result); RUN } }),*];
        LIST
    }};
}

/// Methods that take nothing, on fractions.
macro_rules! unary {
    ($($method:ident)*) => {{
        const LIST: &[Operation] = &[$(Operation {
            name: stringify!($method),
            run: { const RUN: Run = |it| it.floats(&[2, 3]).$method(); RUN },
        }),*];
        LIST
    }};
}

/// Methods that take another tensor of the same shape.
macro_rules! binary {
    ($inputs:ident: $input:expr => $($method:ident)*) => {{
        const LIST: &[Operation] = &[$(Operation {
            name: stringify!($method),
            run: { const RUN: Run = |$inputs| $input.$method(&$input); RUN },
        }),*];
        LIST
    }};
}

/// Operations that only read.
pub(crate) fn reads() -> impl Iterator<Item = &'static Operation> {
    [elementwise(), pairs(), reductions(), indexing(), shapes(), algebra(), layers(), recurrent(), losses(), backward()]
        .into_iter()
        .chain([other_layouts(), quantization(), own()])
        .flat_map(|groups| groups.into_iter().flatten())
}

/// Operations that write their first input: in place, as `out`, or as running statistics, which tch takes by reference.
pub(crate) fn writes() -> impl Iterator<Item = &'static Operation> {
    [in_place(), through_references()].into_iter().flatten().flatten()
}

type Groups = Vec<&'static [Operation]>;

fn elementwise() -> Groups {
    vec![
        unary! {
            f_abs f_absolute f_acos f_acosh f_angle f_arccos f_arccosh f_arcsin f_arcsinh f_arctan f_arctanh f_asin
            f_asinh f_atan f_atanh f_ceil f_celu f_cos f_cosh f_deg2rad f_digamma f_elu f_erf f_erfc f_erfinv f_exp
            f_exp2 f_expm1 f_fix f_floor f_frac f_hardshrink f_hardsigmoid f_hardswish f_hardtanh f_i0 f_isfinite f_isinf
            f_isnan f_isneginf f_isposinf f_isreal f_leaky_relu f_lgamma f_log f_log10 f_log1p f_log2 f_log_sigmoid
            f_logical_not f_mish f_neg f_negative f_positive f_rad2deg f_reciprocal f_relu f_relu6 f_round f_rsqrt f_selu
            f_sgn f_sigmoid f_sign f_signbit f_silu f_sin f_sinc f_sinh f_softplus f_softshrink f_special_bessel_j0
            f_special_bessel_j1 f_special_bessel_y0 f_special_bessel_y1 f_special_entr f_special_erfcx f_special_i0e
            f_special_i1 f_special_i1e f_special_log_ndtr f_special_modified_bessel_i0 f_special_modified_bessel_i1
            f_special_modified_bessel_k0 f_special_modified_bessel_k1 f_special_ndtr f_special_ndtri f_sqrt f_square f_tan
            f_tanh f_trunc
        },
        operations! { it =>
            "conj": it.complexes(&[2, 3]).f_conj_physical()?,
            "clamp": it.floats(&[2, 3]).f_clamp(0.2, 0.5)?,
            "clamp_tensor": it.floats(&[3]).f_clamp_tensor(Some(it.floats(&[3])), Some(it.floats(&[3])))?,
            "cumsum": it.floats(&[2, 3]).f_cumsum(0, None)?,
            "cumprod": it.floats(&[2, 3]).f_cumprod(1, Kind::Double)?,
            "cummax": it.floats(&[2, 3]).f_cummax(1)?.0,
            "cummin": it.integers(&[2, 3]).f_cummin(1)?.0,
            "logcumsumexp": it.floats(&[2, 3]).f_logcumsumexp(1)?,
            "diff": it.floats(&[5]).f_diff(1, 0, Some(it.floats(&[1])), Some(it.floats(&[1])))?,
            "frexp": it.floats(&[2, 3]).f_frexp()?.0,
            "gelu": it.floats(&[2, 3]).f_gelu("tanh")?,
            "glu": it.floats(&[2, 4]).f_glu(1)?,
            "logit": it.floats(&[2, 3]).f_logit(0.1)?,
            "mvlgamma": it.floats(&[2, 3]).f_mvlgamma(1)?,
            "nan_to_num": it.floats(&[2, 3]).f_nan_to_num(0., None, None)?,
            "polygamma": it.floats(&[2, 3]).f_polygamma(1)?,
            "pow with a number": it.floats(&[2, 3]).f_pow_tensor_scalar(2.5)?,
            "renorm": it.floats(&[2, 3]).f_renorm(2., 0, 1.)?,
            "round_decimals": it.floats(&[2, 3]).f_round_decimals(1)?,
            "softmax": it.floats(&[2, 3]).f_softmax(-1, None)?,
            "log_softmax": it.floats(&[2, 3]).f_log_softmax(-1, None)?,
            "safe softmax": it.floats(&[2, 3]).f_internal_safe_softmax(-1, None)?,
            "threshold": it.floats(&[2, 3]).f_threshold(0.5, 0.)?,
            "bitwise_not": it.integers(&[2, 3]).f_bitwise_not()?,
            "zeta": it.floats(&[2, 3]).f_special_zeta(&it.floats(&[2, 3]))?,
            "airy_ai": Torch::f_special_airy_ai(&it.floats(&[2, 3]))?,
            "spherical_bessel_j0": Torch::f_special_spherical_bessel_j0(&it.floats(&[2, 3]))?,
            "chebyshev_polynomial_t": Torch::f_special_chebyshev_polynomial_t(&it.floats(&[3]), &it.floats(&[3]))?,
            "hermite_polynomial_h": Torch::f_special_hermite_polynomial_h(&it.floats(&[3]), &it.floats(&[3]))?,
            "laguerre_polynomial_l": Torch::f_special_laguerre_polynomial_l(&it.floats(&[3]), &it.floats(&[3]))?,
            "to double": it.floats(&[2, 3]).f_to_kind(Kind::Double)?,
            "to bfloat16": it.floats(&[2, 3]).f_to_kind(Kind::BFloat16)?,
            "to bool": it.floats(&[2, 3]).f_to_kind(Kind::Bool)?,
            "from complex": it.complexes(&[2, 3]).f_real()?.f_contiguous()?,
            "add of half": it.of(torch(6).to_kind(Kind::Half)).f_add(&it.of(torch(6).to_kind(Kind::Half)))?,
            "sin of bfloat16": it.of(torch(6).to_kind(Kind::BFloat16)).f_sin()?,
            "dropout in use": it.floats(&[2, 3]).f_dropout(0.5, false)?,
            "dropout in training": it.floats(&[2, 3]).f_dropout(0.5, true)?.f_ones_like()?,
            "feature_dropout": it.floats(&[2, 3]).f_feature_dropout(0.5, true)?.f_ones_like()?,
            "alpha_dropout": it.floats(&[2, 3]).f_alpha_dropout(0.5, true)?.f_ones_like()?,
            "native_dropout": it.floats(&[2, 3]).f_native_dropout(0.5, true)?.0.f_ones_like()?,
            "bernoulli": it.floats(&[2, 3]).f_bernoulli()?.f_ones_like()?,
            "poisson": it.floats(&[2, 3]).f_poisson()?.f_ones_like()?,
            "binomial": Torch::f_binomial(&it.floats(&[3]), &it.floats(&[3]))?.f_ones_like()?,
            "multinomial": it.floats(&[2, 3]).f_multinomial(2, false)?.f_ones_like()?,
            "standard_gamma": it.floats(&[2, 3]).f_internal_standard_gamma()?.f_ones_like()?,
            "standard_gamma_grad": it.floats(&[3]).f_internal_standard_gamma_grad(&it.floats(&[3]))?,
            "sample_dirichlet": it.floats(&[2, 3]).f_internal_sample_dirichlet()?.f_ones_like()?,
            "dirichlet_grad": Torch::f_internal_dirichlet_grad(&it.floats(&[3]), &it.floats(&[3]), &it.floats(&[3]))?,
            "rand_like": it.floats(&[2, 3]).f_rand_like()?.f_ones_like()?,
            "normal_functional": it.floats(&[2, 3]).f_normal_functional(0., 1.)?.f_ones_like()?,
        },
    ]
}

fn pairs() -> Groups {
    vec![
        binary! { it: it.floats(&[2, 3]) =>
            f_add f_arctan2 f_atan2 f_copysign f_dist f_div f_divide f_eq_tensor f_expand_as f_float_power f_floor_divide
            f_fmax f_fmin f_fmod_tensor f_ge_tensor f_gt_tensor f_heaviside f_hypot f_igamma f_igammac f_inner
            f_kron f_ldexp f_le_tensor f_logaddexp f_logaddexp2 f_logical_and f_logical_or f_logical_xor f_lt_tensor
            f_max_other f_maximum f_min_other f_minimum f_mul f_multiply f_ne_tensor f_nextafter f_pow f_remainder_tensor
            f_reshape_as f_rsub f_special_xlog1py f_sub f_subtract f_true_divide f_type_as f_view_as f_xlogy
            f_clamp_max_tensor f_clamp_min_tensor
        },
        binary! { it: it.integers(&[2, 3]) =>
            f_bitwise_and_tensor f_bitwise_left_shift f_bitwise_or_tensor f_bitwise_right_shift f_bitwise_xor_tensor
            f_gcd f_lcm
        },
        operations! { it =>
            "add with a number": it.floats(&[2, 3]).f_add_scalar(1.)?,
            "mul by broadcast": it.floats(&[2, 3]).f_mul(&it.floats(&[3]))?,
            "div rounded": it.floats(&[2, 3]).f_div_tensor_mode(&it.floats(&[2, 3]), "floor")?,
            "addcdiv": it.floats(&[3]).f_addcdiv(&it.floats(&[3]), &it.floats(&[3]))?,
            "addcmul": it.floats(&[3]).f_addcmul(&it.floats(&[3]), &it.floats(&[3]))?,
            "allclose": Torch::from(it.floats(&[3]).f_allclose(&it.floats(&[3]), 1e-5, 1e-6, true)?),
            "complex": Torch::f_complex(&it.floats(&[3]), &it.floats(&[3]))?,
            "equal": Torch::from(it.floats(&[3]).f_equal(&it.floats(&[3]))?),
            "eq with a number": it.floats(&[3]).f_eq(0.5)?,
            "isclose": it.floats(&[3]).f_isclose(&it.floats(&[3]), 1e-5, 1e-6, true)?,
            "lerp": it.floats(&[3]).f_lerp_tensor(&it.floats(&[3]), &it.floats(&[3]))?,
            "polar": Torch::f_polar(&it.floats(&[3]), &it.floats(&[3]))?,
            "prelu": it.floats(&[2, 3]).f_prelu(&it.floats(&[3]))?,
            "where": it.floats(&[3]).f_where_self(&it.booleans(&[true, false, true]), &it.floats(&[3]))?,
            "cosine_similarity": Torch::f_cosine_similarity(&it.floats(&[2, 3]), &it.floats(&[2, 3]), 1, 1e-8)?,
            "pairwise_distance": Torch::f_pairwise_distance(&it.floats(&[2, 3]), &it.floats(&[2, 3]), 2., 1e-6, false)?,
            "cdist": Torch::f_cdist(&it.floats(&[2, 3]), &it.floats(&[4, 3]), 1., None)?,
            "cdist by matmul": Torch::f_cdist(&it.floats(&[30, 3]), &it.floats(&[30, 3]), 2., 1)?,
            "pdist": it.floats(&[4, 3]).f_pdist(2.)?,
            "cross": it.floats(&[2, 3]).f_cross(&it.floats(&[2, 3]), 1)?,
            "add_relu": it.floats(&[3]).f_internal_add_relu(&it.floats(&[3]))?,
        },
    ]
}

fn reductions() -> Groups {
    vec![
        unary! {
            f_all f_any f_max f_median f_min f_nanmedian f_norm f_argwhere f_nonzero f_corrcoef
            f_msort
        },
        operations! { it =>
            "all of booleans": it.booleans(&[true, false]).f_all()?,
            "amax": it.floats(&[2, 3]).f_amax(1, false)?,
            "amin": it.floats(&[2, 3]).f_amin([0, 1], true)?,
            "aminmax": it.floats(&[2, 3]).f_aminmax(None, false)?.0,
            "aminmax of booleans": it.booleans(&[true, false]).f_aminmax(None, false)?.0,
            "aminmax along an axis": it.floats(&[2, 3]).f_aminmax(1, false)?.0,
            "argmax": it.floats(&[2, 3]).f_argmax(None, false)?,
            "argmin": it.floats(&[2, 3]).f_argmin(1, true)?,
            "max of integers": it.integers(&[2, 3]).f_max()?,
            "max of booleans": it.booleans(&[true, false]).f_max()?,
            "min of booleans": it.booleans(&[true, false]).f_min()?,
            "max along an axis": it.floats(&[2, 3]).f_max_dim(1, false)?.0,
            "min along an axis": it.booleans(&[true, false]).f_min_dim(0, false)?.0,
            "sum": it.floats(&[2, 3]).f_sum(None)?,
            "sum of booleans": it.booleans(&[true, false]).f_sum(None)?,
            "sum along an axis": it.floats(&[2, 3]).f_sum_dim_intlist(0, false, None)?,
            "nansum": it.floats(&[2, 3]).f_nansum(0, false, None)?,
            "mean": it.floats(&[2, 3]).f_mean(None)?,
            "mean along an axis": it.floats(&[2, 3]).f_mean_dim(1, false, None)?,
            "nanmean": it.floats(&[2, 3]).f_nanmean(1, false, None)?,
            "prod": it.floats(&[2, 3]).f_prod(None)?,
            "prod along an axis": it.floats(&[2, 3]).f_prod_dim_int(1, false, None)?,
            "logsumexp": it.floats(&[2, 3]).f_logsumexp(1, false)?,
            "std": it.floats(&[2, 3]).f_std(true)?,
            "std_mean": it.floats(&[2, 3]).f_std_mean(true)?.0,
            "var along an axis": it.floats(&[2, 3]).f_var_dim(1, true, false)?,
            "norm along an axis": it.floats(&[2, 3]).f_norm_scalaropt_dim(1., 1, false)?,
            "median along an axis": it.floats(&[2, 3]).f_median_dim(1, false)?.0,
            "mode": it.integers(&[2, 3]).f_mode(1, false)?.0,
            "kthvalue": it.floats(&[2, 3]).f_kthvalue(2, 1, false)?.0,
            "topk": it.floats(&[2, 3]).f_topk(2, 1, true, true)?.0,
            "sort": it.floats(&[2, 3]).f_sort(1, true)?.0,
            "sort of a stride": it.floats(&[2, 3]).f_sort(0, true)?.0,
            "sort_stable": it.floats(&[2, 3]).f_sort_stable(true, 1, false)?.0,
            "argsort": it.floats(&[2, 3]).f_argsort(1, false)?,
            "quantile": it.floats(&[2, 3]).f_quantile(&it.floats(&[2]), 1, false, "linear")?,
            "nanquantile": it.floats(&[2, 3]).f_nanquantile_scalar(0.5, 1, false, "linear")?,
            "count_nonzero": it.floats(&[2, 3]).f_count_nonzero(None)?,
            "bincount": it.integers(&[6]).f_bincount(Some(it.floats(&[6])), 0)?,
            "histc": it.floats(&[6]).f_histc(4)?,
            "histogram": it.floats(&[6]).f_histogram(&it.of(torch(4)), Some(it.floats(&[6])), false)?.0,
            "histogram of counts": it.floats(&[6]).f_histogram_bin_ct(3, [0., 1.], Some(it.floats(&[6])), false)?.0,
            "histogramdd": it.floats(&[6, 2]).f_internal_histogramdd_from_bin_cts(
                [2, 2], [0., 1., 0., 1.], Some(it.floats(&[6])), false)?,
            "histogramdd of edges": it.floats(&[6, 2]).f_internal_histogramdd_from_bin_tensors(
                &[it.of(torch(3)), it.of(torch(3))], Some(it.floats(&[6])), false)?,
            "unique": it.integers(&[6]).f_internal_unique2(true, true, true)?.0,
            "unique of booleans": it.booleans(&[true, false]).f_internal_unique2(true, true, true)?.0,
            "unique_dim": it.integers(&[2, 3]).f_unique_dim(0, true, true, true)?.0,
            "unique_consecutive": it.integers(&[6]).f_unique_consecutive(true, true, None)?.0,
            "cov": it.floats(&[2, 3]).f_cov(1, Some(it.integers(&[3])), Some(it.floats(&[3]).f_to_kind(Kind::Double)?))?,
            "segment_reduce": Torch::f_segment_reduce(
                &it.floats(&[4, 2]), "sum", Some(it.longs(&[1, 3])), None, None, 0, false, 0.)?,
            "trapezoid": Torch::f_trapezoid_x(&it.floats(&[2, 3]), &it.floats(&[2, 3]), 1)?,
            "is_nonzero": Torch::from(it.floats(&[1]).f_is_nonzero()?),
        },
    ]
}

fn indexing() -> Groups {
    vec![operations! { it =>
        "bucketize": it.floats(&[3]).f_bucketize(&it.of(torch(4)), false, false)?,
        "searchsorted": it.of(torch(4)).f_searchsorted(&it.of(torch(4)), false, false, "left", Some(it.longs(&[0, 1, 2, 3])))?,
        "isin": Torch::f_isin(&it.integers(&[6]), &it.integers(&[2]), false, false)?,
        "isin of many": Torch::f_isin(&it.integers(&[6]), &it.integers(&[60]), false, false)?,
        "index": it.floats(&[3, 2]).f_index(&[Some(it.longs(&[2, 0]))])?,
        "index by booleans": it.floats(&[3, 2]).f_index(&[Some(it.booleans(&[true, false, true]))])?,
        "index_add": it.floats(&[3, 2]).f_index_add(0, &it.longs(&[2, 0]), &it.floats(&[2, 2]))?,
        "index_copy": it.floats(&[3, 2]).f_index_copy(0, &it.longs(&[2, 0]), &it.floats(&[2, 2]))?,
        "index_fill": it.floats(&[3, 2]).f_index_fill(0, &it.longs(&[2, 0]), 1.)?,
        "index_put": it.floats(&[3, 2]).f_index_put(&[Some(it.longs(&[2, 0]))], &it.floats(&[2, 2]), true)?,
        "index_reduce": it.floats(&[3, 2]).f_index_reduce(0, &it.longs(&[2, 0]), &it.floats(&[2, 2]), "mean", true)?,
        "index_select": it.floats(&[3, 2]).f_index_select(0, &it.longs(&[2, 0]))?,
        "index_select along the last axis": it.floats(&[3, 2]).f_index_select(1, &it.longs(&[1, 0]))?,
        "gather": it.floats(&[3, 2]).f_gather(0, &it.of(Torch::zeros([2, 2], (Kind::Int64, tch::Device::Cpu))), false)?,
        "scatter": it.floats(&[3]).f_scatter(0, &it.longs(&[2, 0]), &it.floats(&[2]))?,
        "scatter_add": it.floats(&[3]).f_scatter_add(0, &it.longs(&[2, 0]), &it.floats(&[2]))?,
        "scatter_reduce": it.floats(&[3]).f_internal_scatter_reduce(
            0, &it.longs(&[2, 0]), &it.floats(&[2]), "amax", true)?,
        "masked_fill": it.floats(&[3]).f_masked_fill_tensor(&it.booleans(&[true, false, true]), &it.floats(&[]))?,
        "masked_scatter": it.floats(&[3]).f_masked_scatter(&it.booleans(&[true, false, true]), &it.floats(&[3]))?,
        "masked_select": it.floats(&[3]).f_masked_select(&it.booleans(&[true, false, true]))?,
        "put": it.floats(&[3]).f_put(&it.longs(&[2, 0]), &it.floats(&[2]), false)?,
        "take": it.floats(&[3]).f_take(&it.longs(&[2, 0]))?,
        "take_along_dim": it.floats(&[3]).f_take_along_dim(&it.longs(&[2, 0]), 0)?,
        "nonzero_static": it.floats(&[3]).f_nonzero_static(2, -1)?,
        "one_hot": it.longs(&[2, 0]).f_one_hot(3)?,
        "embedding": Torch::f_embedding(&it.floats(&[4, 3]), &it.longs(&[2, 0]), -1, false, false)?,
        "embedding_bag": Torch::f_embedding_bag(&it.floats(&[4, 3]), &it.longs(&[2, 0, 1]), &it.longs(&[0, 1]), false, 0,
            false, Some(it.floats(&[3])), false)?.0,
        "embedding_bag of the mean": Torch::f_embedding_bag(&it.floats(&[4, 3]), &it.longs(&[2, 0, 1]),
            &it.longs(&[0, 1]), false, 1, false, None::<Torch>, false)?.0,
        "embedding_bag of the maximum": Torch::f_embedding_bag(&it.floats(&[4, 3]), &it.longs(&[2, 0, 1]),
            &it.longs(&[0, 1]), false, 2, false, None::<Torch>, false)?.0,
        "repeat_interleave": it.floats(&[2]).f_repeat_interleave_self_tensor(&it.longs(&[2, 1]), 0, None)?,
        "repeat_interleave of counts": Torch::f_repeat_interleave(&it.longs(&[2, 1]), None)?,
        "select_scatter": it.floats(&[2, 3]).f_select_scatter(&it.floats(&[3]), 0, 1)?,
        "slice_scatter": it.floats(&[3]).f_slice_scatter(&it.floats(&[1]), 0, 1, 2, 1)?,
        "diagonal_scatter": it.floats(&[3, 3]).f_diagonal_scatter(&it.floats(&[3]), 0, 0, 1)?,
        "tensor_split": it.floats(&[3]).f_tensor_split_tensor_indices_or_sections(&it.longs(&[1]), 0)?.remove(1).copy(),
        "narrow by a tensor": it.floats(&[3]).f_narrow_tensor(0, &it.of(Torch::from(1i64)), 1)?.copy(),
        "unsafe_index": it.floats(&[3, 2]).f_internal_unsafe_index(&[Some(it.longs(&[2, 0]))])?,
    }]
}

fn shapes() -> Groups {
    vec![
        unary! {
            f_alias_copy f_detach_copy f_fliplr f_flipud f_t_copy f_squeeze_copy f_contiguous f_ravel
            f_adjoint f_mt f_numpy_t f_ones_like f_lift_fresh_copy f_resolve_conj f_resolve_neg
        },
        operations! { it =>
            "copy": it.floats(&[2, 3]).copy(),
            "copy of a view": it.floats(&[2, 3]).tr().narrow(0, 1, 2).copy(),
            "transposed and contiguous": it.floats(&[2, 3]).tr().f_contiguous()?,
            "as_strided_copy": it.floats(&[2, 3]).f_as_strided_copy([2, 2], [1, 2], 1)?,
            "block_diag": Torch::f_block_diag(&[it.floats(&[2, 3]), it.floats(&[1, 2])])?,
            "cartesian_prod": Torch::f_cartesian_prod(&[it.floats(&[2]), it.floats(&[3])])?,
            "cat": Torch::f_cat(&[it.floats(&[2, 3]), it.floats(&[1, 3])], 0)?,
            "cat of a transpose": Torch::f_cat(&[it.floats(&[2, 3]).tr(), it.floats(&[3, 1])], 1)?,
            "stack": Torch::f_stack(&[it.floats(&[2, 3]), it.floats(&[2, 3])], 1)?,
            "hstack": Torch::f_hstack(&[it.floats(&[2, 3]), it.floats(&[2, 3])])?,
            "combinations": it.floats(&[3]).f_combinations(2, false)?,
            "constant_pad_nd": it.floats(&[2, 3]).f_constant_pad_nd([1, 1])?,
            "reflection_pad2d": it.floats(&[1, 1, 3, 3]).f_reflection_pad2d([1, 1, 1, 1])?,
            "replication_pad1d": it.floats(&[1, 2, 3]).f_replication_pad1d([1, 1])?,
            "replication_pad3d": it.floats(&[1, 1, 2, 2, 2]).f_replication_pad3d([1, 1, 1, 1, 1, 1])?,
            "circular pad": it.floats(&[1, 2, 3]).f_pad([1, 1], "circular", None)?,
            "diag": it.floats(&[3]).f_diag(0)?,
            "diag_embed": it.floats(&[3]).f_diag_embed(0, 0, 1)?,
            "expand": it.floats(&[1, 3]).f_expand([2, 3], false)?.copy(),
            "flip": it.floats(&[2, 3]).f_flip([0])?,
            "meshgrid": Torch::f_meshgrid(&[it.floats(&[2]), it.floats(&[3])])?.remove(1).copy(),
            "pad_sequence": Torch::f_pad_sequence(&[it.floats(&[2]), it.floats(&[3])], true, 0., "right")?,
            "repeat": it.floats(&[2, 3]).f_repeat([2, 1])?,
            "roll": it.floats(&[2, 3]).f_roll([1], [0])?,
            "rot90": it.floats(&[2, 3]).f_rot90(1, [0, 1])?,
            "tile": it.floats(&[2, 3]).f_tile([2])?,
            "tril": it.floats(&[3, 3]).f_tril(0)?,
            "triu": it.floats(&[3, 3]).f_triu(1)?,
            "unfold_copy": it.floats(&[6]).f_unfold_copy(0, 2, 1)?,
            "vander": Torch::f_vander(&it.floats(&[3]), None, false)?,
            "channel_shuffle": it.floats(&[1, 4, 2, 2]).f_channel_shuffle(2)?,
            "channel_shuffle of channels last": Torch::f_channel_shuffle(
                &it.floats(&[1, 2, 2, 4]).permute([0, 3, 1, 2]), 2)?,
            "native_channel_shuffle": it.floats(&[1, 4, 2, 2]).f_native_channel_shuffle(2)?,
            "pixel_shuffle": it.floats(&[1, 4, 2, 2]).f_pixel_shuffle(2)?,
            "pixel_unshuffle": it.floats(&[1, 1, 4, 4]).f_pixel_unshuffle(2)?,
            "view_copy with another type": it.floats(&[2, 3]).f_view_copy_dtype(Kind::Int)?,
            "set_source_tensor": it.floats(&[2]).f_set_source_tensor(&it.floats(&[3]))?.copy(),
        },
    ]
}

fn algebra() -> Groups {
    vec![operations! { it =>
        "addbmm": it.floats(&[2, 2]).f_addbmm(&it.floats(&[1, 2, 3]), &it.floats(&[1, 3, 2]))?,
        "addmm": it.floats(&[2, 2]).f_addmm(&it.floats(&[2, 3]), &it.floats(&[3, 2]))?,
        "addmm of a row": it.floats(&[2]).f_addmm(&it.floats(&[2, 3]), &it.floats(&[3, 2]))?,
        "addmm_activation": it.floats(&[2]).f_internal_addmm_activation(&it.floats(&[2, 3]), &it.floats(&[3, 2]), true)?,
        "addmv": it.floats(&[2]).f_addmv(&it.floats(&[2, 3]), &it.floats(&[3]))?,
        "addr": it.floats(&[2, 3]).f_addr(&it.floats(&[2]), &it.floats(&[3]))?,
        "baddbmm": it.floats(&[1, 2, 2]).f_baddbmm(&it.floats(&[1, 2, 3]), &it.floats(&[1, 3, 2]), 1., 1.)?,
        "bilinear": Torch::f_bilinear(&it.floats(&[2, 3]), &it.floats(&[2, 2]), &it.floats(&[4, 3, 2]),
            Some(it.floats(&[4])))?,
        "bmm": it.floats(&[2, 2, 3]).f_bmm(&it.floats(&[2, 3, 2]))?,
        "chain_matmul": Torch::f_chain_matmul(&[it.floats(&[2, 3]), it.floats(&[3, 2]), it.floats(&[2, 3])])?,
        "dot": it.floats(&[3]).f_dot(&it.floats(&[3]))?,
        "einsum": Torch::f_einsum("ij,kj->ik", &[it.floats(&[2, 3]), it.floats(&[4, 3])], None::<i64>)?,
        "linear": it.floats(&[2, 3]).f_linear(&it.floats(&[4, 3]), Some(it.floats(&[4])))?,
        "linear of bfloat16": it.of(torch(6).reshape([2, 3]).to_kind(Kind::BFloat16)).f_linear(
            &it.of(torch(6).reshape([2, 3]).to_kind(Kind::BFloat16)), None::<Torch>)?,
        "matmul": it.floats(&[2, 3]).f_matmul(&it.floats(&[3, 2]))?,
        "matmul of transposes": it.floats(&[2, 3]).tr().f_matmul(&it.floats(&[4, 2]).tr())?,
        "matmul of vectors": it.floats(&[3]).f_matmul(&it.floats(&[3]))?,
        "matmul of integers": it.integers(&[2, 3]).f_matmul(&it.integers(&[3, 2]))?,
        "matmul of complex numbers": it.complexes(&[2, 3]).f_matmul(&it.complexes(&[3, 2]))?,
        "mm of large matrices": it.floats(&[70, 80]).f_mm(&it.floats(&[80, 90]))?,
        "int_mm": it.of(torch(6).reshape([2, 3]).to_kind(Kind::Int8)).f_internal_int_mm(
            &it.of(torch(6).reshape([3, 2]).to_kind(Kind::Int8)))?,
        "mv": it.floats(&[2, 3]).f_mv(&it.floats(&[3]))?,
        "outer": it.floats(&[2]).f_outer(&it.floats(&[3]))?,
        "tensordot": it.floats(&[2, 3]).f_tensordot(&it.floats(&[3, 2]), [1], [0])?,
        "trace": it.floats(&[3, 3]).f_trace()?,
        "vdot": it.complexes(&[3]).f_vdot(&it.complexes(&[3]))?,
        "vecdot": Torch::f_linalg_vecdot(&it.floats(&[2, 3]), &it.floats(&[2, 3]), 1)?,
        "cholesky": it.definite().f_cholesky(false)?,
        "cholesky_inverse": it.definite().f_cholesky_inverse(false)?,
        "cholesky_solve": it.floats(&[3, 2]).f_cholesky_solve(&it.definite(), false)?,
        "linalg_cholesky": it.definite().f_linalg_cholesky(true)?,
        "det": it.definite().f_det()?,
        "logdet": it.definite().f_logdet()?,
        "slogdet": it.definite().f_slogdet()?.1,
        "geqrf": it.definite().f_geqrf()?.0,
        "householder_product": it.floats(&[3, 2]).f_linalg_householder_product(&it.floats(&[2]))?,
        "orgqr": it.floats(&[3, 2]).f_orgqr(&it.floats(&[2]))?,
        "ormqr": it.floats(&[3, 3]).f_ormqr(&it.floats(&[3]), &it.floats(&[3, 2]), true, false)?,
        "inverse": it.definite().f_inverse()?,
        "inv_ex": Torch::f_linalg_inv_ex(&it.definite(), true)?.0,
        "linalg_cond": it.definite().f_linalg_cond(2.)?,
        "linalg_eig": it.definite().f_linalg_eig()?.0,
        "linalg_eigvals": it.definite().f_linalg_eigvals()?,
        "linalg_eigh": it.definite().f_linalg_eigh("L")?.0,
        "linalg_eigvalsh": it.definite().f_linalg_eigvalsh("U")?,
        "linalg_ldl_factor": it.definite().f_linalg_ldl_factor(false)?.0,
        "linalg_ldl_solve": Torch::f_linalg_ldl_solve(
            &it.definite(), &it.of(Torch::from_slice(&[1i32, 2, 3])), &it.floats(&[3, 2]), false)?,
        "linalg_lstsq": it.definite().f_linalg_lstsq(&it.floats(&[3, 2]), None, "gelsd")?.0,
        "linalg_lstsq by QR": it.definite().f_linalg_lstsq(&it.floats(&[3, 2]), None, "gelsy")?.0,
        "linalg_lu": Torch::f_linalg_lu(&it.definite(), true)?.1,
        "linalg_lu_factor": Torch::f_linalg_lu_factor(&it.definite(), true)?.0,
        "linalg_lu_solve": Torch::f_linalg_lu_solve(
            &it.definite(), &it.of(Torch::from_slice(&[1i32, 2, 3])), &it.floats(&[3, 2]), true, false)?,
        "lu_unpack": Torch::f_lu_unpack(&it.definite(), &it.of(Torch::from_slice(&[1i32, 2, 3])), true, true)?.1,
        "linalg_matrix_exp": it.definite().f_linalg_matrix_exp()?,
        "linalg_matrix_power": it.definite().f_linalg_matrix_power(3)?,
        "linalg_matrix_rank": it.definite().f_linalg_matrix_rank_tol_tensor(&it.floats(&[]), false)?,
        "linalg_norm": it.definite().f_linalg_norm_ord_str("nuc", None::<i64>, false, None)?,
        "linalg_pinv": it.definite().f_linalg_pinv_atol_rtol_tensor(
            Some(it.floats(&[])), Some(it.floats(&[])), false)?,
        "linalg_qr": Torch::f_linalg_qr(&it.definite(), "reduced")?.1,
        "linalg_solve": Torch::f_linalg_solve(&it.definite(), &it.floats(&[3, 2]), true)?,
        "linalg_solve_triangular": it.definite().f_linalg_solve_triangular(&it.floats(&[3, 2]), true, true, false)?,
        "triangular_solve": it.floats(&[3, 2]).f_triangular_solve(&it.definite(), true, false, false)?.0,
        "svd": it.floats(&[2, 3]).f_svd(true, true)?.1,
        "linalg_tensorinv": it.definite().f_linalg_tensorinv(1)?,
        "linalg_tensorsolve": it.definite().f_linalg_tensorsolve(&it.floats(&[3]), None::<i64>)?,
        "linalg_vander": Torch::f_linalg_vander(&it.floats(&[3]), None)?,
        "fft": it.floats(&[8]).f_fft_fft(None, -1, "backward")?,
        "fft of complex numbers": it.complexes(&[8]).f_fft_fft(5, -1, "ortho")?,
        "ifft": it.complexes(&[8]).f_fft_ifft(None, -1, "backward")?,
        "rfft": it.floats(&[8]).f_fft_rfft(None, -1, "backward")?,
        "irfft": it.complexes(&[5]).f_fft_irfft(None, -1, "backward")?,
        "hfft": it.complexes(&[5]).f_fft_hfft(None, -1, "backward")?,
        "fft2": it.floats(&[4, 4]).f_fft_fft2(None::<i64>, [-2, -1], "backward")?,
        "irfftn": it.complexes(&[4, 3]).f_fft_irfftn(None::<i64>, None::<i64>, "backward")?,
        "fftshift": it.floats(&[8]).f_fft_fftshift(None::<i64>)?,
        "stft": it.floats(&[16]).f_stft(4, 2, 4, Some(it.floats(&[4])), false, true, true, false)?,
        "istft": it.complexes(&[3, 8]).f_istft(4, 2, 4, Some(it.of(Torch::ones([4], CPU))), true, false, true, None, false)?,
    }]
}

fn layers() -> Groups {
    vec![operations! { it =>
        "conv1d": it.floats(&[1, 2, 8]).f_conv1d(&it.floats(&[3, 2, 3]), Some(it.floats(&[3])), 1, 0, 1, 1)?,
        "conv2d": it.floats(&[1, 2, 8, 8]).f_conv2d(&it.floats(&[3, 2, 3, 3]), Some(it.floats(&[3])), 1, 0, 1, 1)?,
        "conv2d of doubles": it.doubles(&[1, 2, 8, 8]).f_conv2d(
            &it.doubles(&[3, 2, 3, 3]), Some(it.doubles(&[3])), 1, 0, 1, 1)?,
        "conv2d of integers": it.integers(&[1, 2, 8, 8]).f_conv2d(&it.integers(&[3, 2, 3, 3]), None::<Torch>, 1, 0, 1, 1)?,
        "conv2d of doubles with a kernel of 1": it.doubles(&[1, 2, 4, 4]).f_conv2d(
            &it.doubles(&[3, 2, 1, 1]), Some(it.doubles(&[3])), 1, 0, 1, 1)?,
        "conv1d of doubles with a kernel of 1": it.doubles(&[1, 2, 4]).f_conv1d(
            &it.doubles(&[3, 2, 1]), Some(it.doubles(&[3])), 1, 0, 1, 1)?,
        "conv2d, dilated": it.doubles(&[1, 2, 8, 8]).f_conv2d(&it.doubles(&[3, 2, 3, 3]), None::<Torch>, 1, 0, 2, 1)?,
        "conv2d of groups": it.floats(&[1, 4, 8, 8]).f_conv2d(&it.floats(&[4, 1, 3, 3]), None::<Torch>, 1, 1, 1, 4)?,
        "conv2d, large": it.floats(&[4, 8, 32, 32]).f_conv2d(
            &it.floats(&[16, 8, 3, 3]), Some(it.floats(&[16])), 1, 1, 1, 1)?,
        "conv2d of channels last": it.floats(&[1, 8, 8, 4]).permute([0, 3, 1, 2]).f_conv2d(
            &it.floats(&[3, 4, 3, 3]), None::<Torch>, 1, 0, 1, 1)?,
        "conv3d": it.floats(&[1, 2, 4, 4, 4]).f_conv3d(&it.floats(&[3, 2, 3, 3, 3]), Some(it.floats(&[3])), 1, 0, 1, 1)?,
        "conv3d of doubles": it.doubles(&[1, 2, 4, 4, 4]).f_conv3d(
            &it.doubles(&[3, 2, 3, 3, 3]), Some(it.doubles(&[3])), 1, 0, 1, 1)?,
        "conv_tbc": it.floats(&[8, 1, 2]).f_conv_tbc(&it.floats(&[3, 2, 3]), &it.floats(&[3]), 0)?,
        "conv_transpose2d": it.floats(&[1, 2, 4, 4]).f_conv_transpose2d(
            &it.floats(&[2, 3, 3, 3]), Some(it.floats(&[3])), 1, 0, 0, 1, 1)?,
        "conv_transpose2d of doubles": it.doubles(&[1, 2, 4, 4]).f_conv_transpose2d(
            &it.doubles(&[2, 3, 3, 3]), Some(it.doubles(&[3])), 1, 0, 0, 1, 1)?,
        "conv_transpose3d of doubles": it.doubles(&[1, 2, 3, 3, 3]).f_conv_transpose3d(
            &it.doubles(&[2, 3, 3, 3, 3]), Some(it.doubles(&[3])), 1, 0, 0, 1, 1)?,
        "mkldnn_convolution": it.floats(&[1, 2, 8, 8]).f_mkldnn_convolution(
            &it.floats(&[3, 2, 3, 3]), Some(it.floats(&[3])), [0, 0], [1, 1], [1, 1], 1)?,
        "batch_norm in use": it.floats(&[2, 3, 4]).f_batch_norm(Some(it.floats(&[3])), Some(it.floats(&[3])),
            Some(it.floats(&[3])), Some(it.floats(&[3])), false, 0.1, 1e-5, false)?,
        "batch_norm of channels last": it.floats(&[2, 4, 4, 3]).permute([0, 3, 1, 2]).f_batch_norm(
            Some(it.floats(&[3])), Some(it.floats(&[3])), Some(it.floats(&[3])), Some(it.floats(&[3])), false, 0.1, 1e-5,
            false)?,
        "batch_norm in training": it.floats(&[2, 3, 4]).f_batch_norm(Some(it.floats(&[3])), Some(it.floats(&[3])),
            None::<Torch>, None, true, 0.1, 1e-5, false)?,
        "group_norm": it.floats(&[2, 4, 3]).f_group_norm(2, Some(it.floats(&[4])), Some(it.floats(&[4])), 1e-5, false)?,
        "instance_norm": it.floats(&[2, 3, 4]).f_instance_norm(Some(it.floats(&[3])), Some(it.floats(&[3])),
            None::<Torch>, None, true, 0.1, 1e-5, false)?,
        "layer_norm": it.floats(&[2, 3]).f_layer_norm([3], Some(it.floats(&[3])), Some(it.floats(&[3])), 1e-5, false)?,
        "rms_norm": it.floats(&[2, 3]).f_rms_norm([3], Some(it.floats(&[3])), 1e-5)?,
        "local response": it.floats(&[1, 4, 3, 3]).f_avg_pool2d([2, 2], [1, 1], [0, 0], false, true, None)?,
        "weight_norm": Torch::f_internal_weight_norm(&it.floats(&[2, 3]), &it.floats(&[2, 1]), 0)?,
        "norm_except_dim": Torch::f_norm_except_dim(&it.floats(&[2, 3]), 2, 0)?,
        "adaptive_avg_pool1d": it.floats(&[1, 2, 8]).f_adaptive_avg_pool1d(3)?,
        "adaptive_avg_pool2d": it.floats(&[1, 2, 8, 8]).f_adaptive_avg_pool2d([3, 3])?,
        "adaptive_avg_pool3d": it.floats(&[1, 2, 4, 4, 4]).f_adaptive_avg_pool3d([2, 2, 3])?,
        "adaptive_max_pool2d": it.floats(&[1, 2, 8, 8]).f_adaptive_max_pool2d([3, 3])?.0,
        "adaptive_max_pool3d": it.floats(&[1, 2, 4, 4, 4]).f_adaptive_max_pool3d([2, 2, 3])?.0,
        "avg_pool1d": it.floats(&[1, 2, 8]).f_avg_pool1d(2, 1, 0, false, true)?,
        "avg_pool2d of channels last": it.floats(&[1, 8, 8, 2]).permute([0, 3, 1, 2]).f_avg_pool2d(
            [2, 2], [1, 1], [0, 0], false, true, None)?,
        "avg_pool3d": it.floats(&[1, 2, 4, 4, 4]).f_avg_pool3d([2, 2, 2], [1, 1, 1], [0, 0, 0], false, true, None)?,
        "max_pool1d": it.floats(&[1, 2, 8]).f_max_pool1d(2, 1, 0, 1, false)?,
        "max_pool2d": it.floats(&[1, 2, 8, 8]).f_max_pool2d([2, 2], [1, 1], [0, 0], [1, 1], false)?,
        "max_pool2d_with_indices": it.floats(&[1, 2, 8, 8]).f_max_pool2d_with_indices(
            [2, 2], [1, 1], [0, 0], [1, 1], false)?.0,
        "max_pool3d": it.floats(&[1, 2, 4, 4, 4]).f_max_pool3d([2, 2, 2], [1, 1, 1], [0, 0, 0], [1, 1, 1], false)?,
        "max_unpool2d": it.floats(&[1, 1, 2, 2]).f_max_unpool2d(
            &it.of(Torch::from_slice(&[0i64, 3, 8, 11]).reshape([1, 1, 2, 2])), [4, 4])?,
        "fractional_max_pool2d": it.floats(&[1, 2, 8, 8]).f_fractional_max_pool2d([2, 2], [4, 4], &it.floats(&[1, 2, 2]))?.0,
        "fractional_max_pool3d": it.floats(&[1, 2, 4, 4, 4]).f_fractional_max_pool3d(
            [2, 2, 2], [2, 2, 2], &it.floats(&[1, 2, 3]))?.0,
        "col2im": it.floats(&[1, 4, 9]).f_col2im([4, 4], [2, 2], [1, 1], [0, 0], [1, 1])?,
        "im2col": it.floats(&[1, 1, 4, 4]).f_im2col([2, 2], [1, 1], [0, 0], [1, 1])?,
        "affine_grid_generator": Torch::f_affine_grid_generator(&it.floats(&[1, 2, 3]), [1, 1, 4, 4], false)?,
        "grid_sampler_2d": it.floats(&[1, 1, 4, 4]).f_grid_sampler(&it.floats(&[1, 2, 2, 2]), 0, 0, false)?,
        "grid_sampler_2d, bicubic": it.floats(&[1, 1, 4, 4]).f_grid_sampler(&it.floats(&[1, 2, 2, 2]), 2, 1, false)?,
        "grid_sampler_3d": it.floats(&[1, 1, 3, 3, 3]).f_grid_sampler(&it.floats(&[1, 2, 2, 2, 3]), 0, 0, false)?,
        "upsample_nearest1d": it.floats(&[1, 2, 4]).f_upsample_nearest1d(8, None)?,
        "upsample_nearest2d": it.floats(&[1, 2, 4, 4]).f_upsample_nearest2d([8, 8], None, None)?,
        "upsample_nearest3d": it.floats(&[1, 1, 2, 2, 2]).f_upsample_nearest3d([4, 4, 4], None, None, None)?,
        "upsample_nearest_exact2d": it.floats(&[1, 2, 4, 4]).f_internal_upsample_nearest_exact2d([8, 8], None, None)?,
        "upsample_linear1d": it.floats(&[1, 2, 4]).f_upsample_linear1d(8, false, None)?,
        "upsample_bilinear2d": it.floats(&[1, 2, 4, 4]).f_upsample_bilinear2d([8, 8], false, None, None)?,
        "upsample_bilinear2d of channels last": it.floats(&[1, 4, 4, 3]).permute([0, 3, 1, 2]).f_upsample_bilinear2d(
            [8, 8], false, None, None)?,
        "upsample_bilinear2d_aa": it.floats(&[1, 2, 4, 4]).f_internal_upsample_bilinear2d_aa([2, 2], false, None, None)?,
        "upsample_bilinear2d_aa of bytes": it.of(torch(48).reshape([1, 3, 4, 4]).to_kind(Kind::Uint8))
            .f_internal_upsample_bilinear2d_aa([2, 2], false, None, None)?,
        "upsample_bicubic2d": it.floats(&[1, 2, 4, 4]).f_upsample_bicubic2d([8, 8], false, None, None)?,
        "upsample_trilinear3d": it.floats(&[1, 1, 2, 2, 2]).f_upsample_trilinear3d([4, 4, 4], true, None, None, None)?,
        "scaled_dot_product_attention": Torch::f_scaled_dot_product_attention(&it.floats(&[1, 2, 4, 8]),
            &it.floats(&[1, 2, 4, 8]), &it.floats(&[1, 2, 4, 8]), None::<Torch>, 0., true, None, false)?,
        "scaled_dot_product_attention with a mask": Torch::f_scaled_dot_product_attention(&it.floats(&[1, 2, 4, 8]),
            &it.floats(&[1, 2, 4, 8]), &it.floats(&[1, 2, 4, 8]), Some(it.floats(&[4, 4])), 0., false, None, false)?,
        "scaled_dot_product_attention with booleans": Torch::f_scaled_dot_product_attention(&it.floats(&[1, 2, 2, 8]),
            &it.floats(&[1, 2, 2, 8]), &it.floats(&[1, 2, 2, 8]),
            Some(it.of(Torch::ones([2, 2], (Kind::Bool, tch::Device::Cpu)))), 0., false, None, false)?,
        "scaled_dot_product_attention_math": Torch::f_internal_scaled_dot_product_attention_math(
            &it.floats(&[1, 2, 4, 8]), &it.floats(&[1, 2, 4, 8]), &it.floats(&[1, 2, 4, 8]), Some(it.floats(&[4, 4])), 0.,
            false, None::<Torch>, None, false)?.0,
        "masked_softmax": it.floats(&[1, 2, 3, 3]).f_internal_masked_softmax(
            &it.of(Torch::zeros([1, 2, 3, 3], (Kind::Bool, tch::Device::Cpu))), 3, 2)?,
        "transform_bias_rescale_qkv": Torch::f_internal_transform_bias_rescale_qkv(
            &it.floats(&[1, 2, 24]), &it.floats(&[24]), 2)?.0,
        "native_multi_head_attention": Torch::f_internal_native_multi_head_attention(&it.floats(&[1, 4, 8]),
            &it.floats(&[1, 4, 8]), &it.floats(&[1, 4, 8]), 8, 2, &it.floats(&[24, 8]), &it.floats(&[24]),
            &it.floats(&[8, 8]), &it.floats(&[8]), None::<Torch>, true, true, None)?.0,
        "transformer_encoder_layer_fwd": Torch::f_internal_transformer_encoder_layer_fwd(&it.floats(&[1, 4, 8]), 8, 2,
            &it.floats(&[24, 8]), &it.floats(&[24]), &it.floats(&[8, 8]), &it.floats(&[8]), true, false, 1e-5,
            &it.floats(&[8]), &it.floats(&[8]), &it.floats(&[8]), &it.floats(&[8]), &it.floats(&[16, 8]),
            &it.floats(&[16]), &it.floats(&[8, 16]), &it.floats(&[8]), None::<Torch>, None)?,
    }]
}

fn recurrent() -> Groups {
    vec![operations! { it =>
        "lstm": it.floats(&[5, 3, 4]).f_lstm(&[it.floats(&[1, 3, 6]), it.floats(&[1, 3, 6])], &it.weights(4, 24, 6), true,
            1, 0., false, false, false)?.0,
        "lstm in training": it.floats(&[5, 3, 4]).f_lstm(&[it.floats(&[1, 3, 6]), it.floats(&[1, 3, 6])],
            &it.weights(4, 24, 6), true, 1, 0., true, false, false)?.0,
        "lstm without biases": it.floats(&[5, 3, 4]).f_lstm(&[it.floats(&[1, 3, 6]), it.floats(&[1, 3, 6])],
            &it.weights(4, 24, 6)[..2], false, 1, 0., false, false, false)?.0,
        "lstm of doubles": it.doubles(&[5, 3, 4]).f_lstm(&[it.doubles(&[1, 3, 6]), it.doubles(&[1, 3, 6])],
            &[it.doubles(&[24, 4]), it.doubles(&[24, 6]), it.doubles(&[24]), it.doubles(&[24])], true, 1, 0., false, false,
            false)?.0,
        "lstm of packed sequences": Torch::f_lstm_data(&it.floats(&[5, 4]), &it.longs(&[3, 2]),
            &[it.floats(&[1, 3, 6]), it.floats(&[1, 3, 6])], &it.weights(4, 24, 6), true, 1, 0., false, false)?.0,
        "lstm_cell": it.floats(&[3, 4]).f_lstm_cell(&[it.floats(&[3, 6]), it.floats(&[3, 6])], &it.floats(&[24, 4]),
            &it.floats(&[24, 6]), Some(it.floats(&[24])), Some(it.floats(&[24])))?.0,
        "gru": it.floats(&[5, 3, 4]).f_gru(&it.floats(&[1, 3, 6]), &it.weights(4, 18, 6), true, 1, 0., false, false,
            false)?.0,
        "gru of packed sequences": Torch::f_gru_data(&it.floats(&[5, 4]), &it.longs(&[3, 2]), &it.floats(&[1, 3, 6]),
            &it.weights(4, 18, 6), true, 1, 0., false, false)?.0,
        "gru_cell": it.floats(&[3, 4]).f_gru_cell(&it.floats(&[3, 6]), &it.floats(&[18, 4]), &it.floats(&[18, 6]),
            Some(it.floats(&[18])), Some(it.floats(&[18])))?,
        "rnn_tanh": it.floats(&[5, 3, 4]).f_rnn_tanh(&it.floats(&[1, 3, 6]), &it.weights(4, 6, 6), true, 1, 0., false,
            false, false)?.0,
        "rnn_relu of packed sequences": Torch::f_rnn_relu_data(&it.floats(&[5, 4]), &it.longs(&[3, 2]),
            &it.floats(&[1, 3, 6]), &it.weights(4, 6, 6), true, 1, 0., false, false)?.0,
        "rnn_tanh_cell": it.floats(&[3, 4]).f_rnn_tanh_cell(&it.floats(&[3, 6]), &it.floats(&[6, 4]), &it.floats(&[6, 6]),
            Some(it.floats(&[6])), Some(it.floats(&[6])))?,
        "pack_padded_sequence": it.floats(&[3, 2, 4]).f_internal_pack_padded_sequence(&it.longs(&[3, 2]), false)?.0,
        "pad_packed_sequence": Torch::f_internal_pad_packed_sequence(
            &it.floats(&[5, 4]), &it.longs(&[2, 2, 1]), false, 0., 3)?.0,
    }]
}

fn losses() -> Groups {
    vec![operations! { it =>
        "binary_cross_entropy": it.floats(&[3]).f_binary_cross_entropy(&it.floats(&[3]), Some(it.floats(&[3])), Mean)?,
        "binary_cross_entropy_with_logits": it.floats(&[3]).f_binary_cross_entropy_with_logits(
            &it.floats(&[3]), Some(it.floats(&[3])), Some(it.floats(&[3])), Mean)?,
        "cosine_embedding_loss": Torch::f_cosine_embedding_loss(
            &it.floats(&[2, 3]), &it.floats(&[2, 3]), &it.of(Torch::from_slice(&[1f32, -1.])), 0., Mean)?,
        "cross_entropy_loss": it.floats(&[2, 3]).f_cross_entropy_loss(
            &it.longs(&[2, 0]), Some(it.floats(&[3])), Mean, -100, 0.1)?,
        "cross_entropy_loss of probabilities": it.floats(&[2, 3]).f_cross_entropy_loss(
            &it.floats(&[2, 3]), Some(it.floats(&[3])), Mean, -100, 0.1)?,
        "ctc_loss": Torch::f_ctc_loss(&it.floats(&[5, 1, 4]).log_softmax(2, None), &it.longs(&[1, 2]), [5], [2], 0, Mean,
            false)?,
        "ctc_loss by a tensor": Torch::f_ctc_loss_tensor(&it.floats(&[5, 1, 4]), &it.longs(&[1, 2]), &it.longs(&[5]),
            &it.longs(&[2]), 0, Mean, false)?,
        "hinge_embedding_loss": it.floats(&[3]).f_hinge_embedding_loss(&it.of(Torch::from_slice(&[1f32, -1., 1.])), 1., Mean)?,
        "huber_loss": it.floats(&[3]).f_huber_loss(&it.floats(&[3]), Mean, 1.)?,
        "kl_div": it.floats(&[3]).f_kl_div(&it.floats(&[3]), Sum, false)?,
        "l1_loss": it.floats(&[3]).f_l1_loss(&it.floats(&[3]), Mean)?,
        "margin_ranking_loss": Torch::f_margin_ranking_loss(
            &it.floats(&[3]), &it.floats(&[3]), &it.floats(&[3]), 0.5, Mean)?,
        "mse_loss": it.floats(&[3]).f_mse_loss(&it.floats(&[3]), Mean)?,
        "multilabel_margin_loss": it.floats(&[2, 3]).f_multilabel_margin_loss(
            &it.of(Torch::from_slice(&[2i64, -1, 0, 1, 0, -1]).reshape([2, 3])), Mean)?,
        "nll_loss": it.floats(&[2, 3]).f_nll_loss_nd(&it.longs(&[2, 0]), Some(it.floats(&[3])), Mean, -100)?,
        "nll_loss2d": it.floats(&[1, 3, 1, 2]).f_nll_loss_nd(
            &it.of(Torch::from_slice(&[2i64, 0]).reshape([1, 1, 2])), Some(it.floats(&[3])), Mean, -100)?,
        "poisson_nll_loss": it.floats(&[3]).f_poisson_nll_loss(&it.floats(&[3]), true, true, 1e-8, Mean)?,
        "smooth_l1_loss": it.floats(&[3]).f_smooth_l1_loss(&it.floats(&[3]), Mean, 1.)?,
        "soft_margin_loss": it.floats(&[3]).f_soft_margin_loss(&it.floats(&[3]), Mean)?,
        "triplet_margin_loss": Torch::f_triplet_margin_loss(
            &it.floats(&[2, 3]), &it.floats(&[2, 3]), &it.floats(&[2, 3]), 1., 2., 1e-6, false, Mean)?,
    }]
}

/// Gradients, by operations of their own and by autograd.
fn backward() -> Groups {
    vec![operations! { it =>
        "embedding_dense_backward": Torch::f_embedding_dense_backward(
            &it.floats(&[2, 3]), &it.longs(&[2, 0]), 4, -1, false)?,
        "gelu_backward": it.floats(&[3]).f_gelu_backward(&it.floats(&[3]), "none")?,
        "glu_backward": it.floats(&[2, 4]).f_glu_backward(&it.floats(&[2, 2]), 1)?,
        "hardswish_backward": it.floats(&[3]).f_hardswish_backward(&it.floats(&[3]))?,
        "log_sigmoid_backward": it.floats(&[3]).f_log_sigmoid_backward(&it.floats(&[3]), &it.floats(&[3]))?,
        "max_pool2d_with_indices_backward": it.floats(&[1, 1, 4, 4]).f_max_pool2d_with_indices_backward(
            &it.floats(&[1, 1, 2, 2]), [2, 2], [2, 2], [0, 0], [1, 1], false,
            &it.of(Torch::from_slice(&[0i64, 3, 8, 11]).reshape([1, 1, 2, 2])))?,
        "sigmoid_backward": Torch::f_sigmoid_backward(&it.floats(&[3]), &it.floats(&[3]))?,
        "silu_backward": it.floats(&[3]).f_silu_backward(&it.floats(&[3]))?,
        "tanh_backward": Torch::f_tanh_backward(&it.floats(&[3]), &it.floats(&[3]))?,
        "upsample_bilinear2d_backward": Torch::f_upsample_bilinear2d_backward(
            &it.floats(&[1, 1, 4, 4]), [4, 4], [1, 1, 2, 2], false, None, None)?,
        "gradient of mul": gradient(&it.floats(&[3]), |leaf| leaf.f_mul(&it.floats(&[3])))?,
        "gradient of matmul": gradient(&it.floats(&[2, 3]), |leaf| leaf.f_matmul(&it.floats(&[3, 2])))?,
        "gradient of softmax": gradient(&it.floats(&[2, 3]), |leaf| leaf.f_softmax(1, None))?,
        "gradient of conv2d": gradient(&it.floats(&[1, 2, 8, 8]), |leaf| {
            leaf.f_conv2d(&it.floats(&[3, 2, 3, 3]), Some(it.floats(&[3])), 1, 0, 1, 1)
        })?,
        "gradient of layer_norm": gradient(&it.floats(&[2, 3]), |leaf| {
            leaf.f_layer_norm([3], Some(it.floats(&[3])), Some(it.floats(&[3])), 1e-5, false)
        })?,
        "gradient of batch_norm": gradient(&it.floats(&[2, 3, 4]), |leaf| {
            leaf.f_batch_norm(Some(it.floats(&[3])), Some(it.floats(&[3])), None::<Torch>, None, true, 0.1, 1e-5, false)
        })?,
        "gradient of attention": gradient(&it.floats(&[1, 2, 4, 8]), |leaf| {
            let (key, value) = (it.floats(&[1, 2, 4, 8]), it.floats(&[1, 2, 4, 8]));
            Torch::f_scaled_dot_product_attention(leaf, &key, &value, None::<Torch>, 0., true, None, false)
        })?,
        "gradient of conv2d of doubles": gradient(&it.doubles(&[1, 2, 8, 8]), |leaf| {
            leaf.f_conv2d(&it.doubles(&[3, 2, 3, 3]), Some(it.doubles(&[3])), 1, 0, 1, 1)
        })?,
        "gradient of lstm": gradient(&it.floats(&[5, 3, 4]), |leaf| {
            let states = [it.floats(&[1, 3, 6]), it.floats(&[1, 3, 6])];
            Ok(leaf.f_lstm(&states, &it.weights(4, 24, 6), true, 1, 0., true, false, false)?.0)
        })?,
        "gradient of weight_norm": gradient(&it.floats(&[2, 3]), |leaf| {
            Torch::f_internal_weight_norm(leaf, &it.floats(&[2, 1]), 0)
        })?,
        "gradient of gru": gradient(&it.floats(&[5, 3, 4]), |leaf| {
            let hidden = it.floats(&[1, 3, 6]);
            Ok(leaf.f_gru(&hidden, &it.weights(4, 18, 6), true, 1, 0., true, false, false)?.0)
        })?,
        "gradient of embedding": gradient(&it.floats(&[4, 3]), |leaf| {
            Torch::f_embedding(leaf, &it.longs(&[2, 0]), -1, false, false)
        })?,
        "gradient of svd": gradient(&it.floats(&[2, 3]), |leaf| Ok(leaf.f_svd(true, true)?.1))?,
        "gradient of ctc_loss": gradient(&it.floats(&[5, 1, 4]), |leaf| {
            Torch::f_ctc_loss(leaf, &it.longs(&[1, 2]), [5], [2], 0, Mean, false)
        })?,
    }]
}

fn gradient(input: &Torch, run: impl FnOnce(&Torch) -> Result<Torch, tch::TchError>) -> Result<Torch, tch::TchError> {
    let leaf = input.detach().f_set_requires_grad(true)?;
    run(&leaf)?.f_square()?.f_sum(None)?.f_backward()?;
    Ok(leaf.grad())
}

/// Sparse tensors and those of oneDNN.
fn other_layouts() -> Groups {
    vec![operations! { it =>
        "to_sparse": it.floats(&[2, 3]).f_to_sparse_sparse_dim(2)?.f_to_dense(None, false)?,
        "to_sparse_csr": it.floats(&[2, 3]).f_to_sparse_csr(None)?.f_to_dense(None, false)?,
        "to_sparse_csc": it.floats(&[2, 3]).f_to_sparse_csc(None)?.f_to_dense(None, false)?,
        "to_sparse_bsr": it.floats(&[2, 4]).f_to_sparse_bsr([2, 2], None)?.f_to_dense(None, false)?,
        "to_sparse_bsc": it.floats(&[2, 4]).f_to_sparse_bsc([2, 2], None)?.f_to_dense(None, false)?,
        "sparse_coo_tensor": it.coo()?.f_to_dense(None, false)?,
        "coalesce": it.coo()?.f_coalesce()?.f_to_dense(None, false)?,
        "sparse mm": it.coo()?.f_mm(&it.floats(&[3, 2]))?,
        "sparse addmm": it.floats(&[2, 2]).f_internal_sparse_addmm(&it.coo()?, &it.floats(&[3, 2]))?,
        "sparse_mask": it.floats(&[2, 3]).f_sparse_mask(&it.coo()?.f_coalesce()?)?.f_to_dense(None, false)?,
        "sparse sum": it.coo()?.f_internal_sparse_sum()?,
        "sparse sum along an axis": it.coo()?.f_internal_sparse_sum_dim([0])?.f_to_dense(None, false)?,
        "sparse softmax": it.coo()?.f_internal_sparse_softmax_int(1, None)?.f_to_dense(None, false)?,
        "sparse add": it.coo()?.f_add(&it.coo()?)?.f_to_dense(None, false)?,
        "dense and sparse add": it.floats(&[2, 3]).f_add(&it.coo()?)?,
        "sparse mul": it.coo()?.f_mul(&it.coo()?)?.f_to_dense(None, false)?,
        "sparse index_select": it.coo()?.f_index_select(1, &it.longs(&[2, 0]))?.f_to_dense(None, false)?,
        "sparse matmul": it.coo()?.f_internal_sparse_sparse_matmul(&it.coo()?.f_tr()?)?.f_to_dense(None, false)?,
        "sparse_csr_tensor": it.csr()?.f_to_dense(None, false)?,
        "csr mm": it.csr()?.f_mm(&it.floats(&[3, 2]))?,
        "csr mv": it.csr()?.f_mv(&it.floats(&[3]))?,
        "csr addmm": it.floats(&[2, 2]).f_addmm(&it.csr()?, &it.floats(&[3, 2]))?,
        "csr sum": it.csr()?.f_internal_sparse_csr_sum([0], true, None)?.f_to_dense(None, false)?,
        "csr transposed": it.csr()?.f_to_sparse_csc(None)?.f_to_dense(None, false)?,
        "csr matmul": it.csr()?.f_matmul(&it.floats(&[3, 2]))?,
        "sparse_sampled_addmm": it.csr()?.f_sparse_sampled_addmm(&it.floats(&[2, 4]), &it.floats(&[4, 3]))?
            .f_to_dense(None, false)?,
        "sparse_mm_reduce": Torch::f_internal_sparse_mm_reduce(&it.csr()?, &it.floats(&[3, 2]), "sum")?,
        "convert_indices_from_coo_to_csr": it.longs(&[0, 0, 1]).f_internal_convert_indices_from_coo_to_csr(2, false)?,
        "convert_indices_from_csr_to_coo": Torch::f_internal_convert_indices_from_csr_to_coo(
            &it.longs(&[0, 2, 3]), &it.longs(&[0, 1, 2]), false, false)?,
        "spdiags": Torch::f_internal_spdiags(&it.floats(&[2, 3]), &it.longs(&[0, 1]), [3, 3], None)?
            .f_to_dense(None, false)?,
        "to_mkldnn": it.floats(&[2, 3]).f_to_mkldnn(None)?.f_to_dense(None, false)?,
        "mkldnn_linear": it.floats(&[2, 3]).f_to_mkldnn(None)?.f_mkldnn_linear(
            &it.floats(&[4, 3]), Some(it.floats(&[4])))?.f_to_dense(None, false)?,
        "mkldnn_reorder_conv2d_weight": it.floats(&[3, 2, 3, 3]).f_to_mkldnn(None)?.f_mkldnn_reorder_conv2d_weight(
            [0, 0], [1, 1], [1, 1], 1, None::<i64>)?.f_to_dense(None, false)?,
    }]
}

fn quantization() -> Groups {
    vec![operations! { it =>
        "quantize_per_tensor": it.floats(&[2, 3]).f_quantize_per_tensor(0.1, 0, Kind::QInt8)?.f_dequantize()?,
        "quantize_per_tensor by tensors": it.floats(&[2, 3]).f_quantize_per_tensor_tensor_qparams(
            &it.floats(&[]), &it.of(Torch::from(0i64)), Kind::QUInt8)?.f_dequantize()?,
        "quantize_per_tensor, dynamic": it.floats(&[2, 3]).f_quantize_per_tensor_dynamic(Kind::QUInt8, false)?
            .f_dequantize()?,
        "quantize_per_channel": it.floats(&[2, 3]).f_quantize_per_channel(
            &it.doubles(&[2]), &it.longs(&[0, 1]), 0, Kind::QInt8)?.f_dequantize()?,
        "make_per_channel_quantized_tensor": it.of(torch(6).reshape([2, 3]).to_kind(Kind::Int8))
            .f_internal_make_per_channel_quantized_tensor(&it.doubles(&[2]), &it.longs(&[0, 1]), 0)?.f_dequantize()?,
        "make_per_tensor_quantized_tensor": it.of(torch(6).to_kind(Kind::Int8))
            .f_internal_make_per_tensor_quantized_tensor(0.1, 0)?.f_dequantize()?,
        "fake_quantize_per_tensor_affine": it.floats(&[2, 3]).f_fake_quantize_per_tensor_affine(0.1, 0, 0, 255)?,
        "fake_quantize_per_tensor_affine by tensors": it.floats(&[2, 3])
            .f_fake_quantize_per_tensor_affine_tensor_qparams(
                &it.floats(&[1]), &it.of(Torch::from_slice(&[0i32])), 0, 255)?,
        "fake_quantize_per_channel_affine": it.floats(&[2, 3]).f_fake_quantize_per_channel_affine(
            &it.floats(&[2]), &it.of(Torch::from_slice(&[0i32, 1])), 0, 0, 255)?,
        "fake_quantize_learnable_per_tensor_affine": it.floats(&[2, 3])
            .f_internal_fake_quantize_learnable_per_tensor_affine(&it.floats(&[1]), &it.floats(&[1]), 0, 255, 1.)?,
        "fake_quantize_learnable_per_channel_affine": it.floats(&[2, 3])
            .f_internal_fake_quantize_learnable_per_channel_affine(&it.floats(&[2]), &it.floats(&[2]), 0, 0, 255, 1.)?,
        "choose_qparams_optimized": it.floats(&[6]).f_choose_qparams_optimized(6, 20, 0.16, 8)?.0,
        "weight_int8pack_mm": it.of(Torch::ones([2, 32], (Kind::BFloat16, tch::Device::Cpu)))
            .f_internal_weight_int8pack_mm(&it.of(Torch::ones([4, 32], (Kind::Int8, tch::Device::Cpu))),
                &it.of(Torch::ones([4], (Kind::BFloat16, tch::Device::Cpu))))?,
        "rowwise_prune": Torch::f_internal_rowwise_prune(
            &it.floats(&[2, 3]), &it.booleans(&[true, false]), Kind::Int64)?.0,
        "saturate_weight_to_fp16": Torch::f_internal_saturate_weight_to_fp16(&it.floats(&[2, 3]))?,
    }]
}

/// What tch adds to libtorch.
fn own() -> Groups {
    vec![operations! { it =>
        "data_ptr": { let _ = it.floats(&[3]).data_ptr(); Torch::new() },
        "copy_data": { it.floats(&[3]).f_copy_data(&mut [0f32; 3], 3)?; Torch::new() },
        "copy_data_u8": { it.floats(&[3]).f_copy_data_u8(&mut [0; 12], 3)?; Torch::new() },
        "Vec::try_from": Torch::from_slice(&Vec::<f32>::try_from(&it.floats(&[3]))?),
        "Vec<Vec>::try_from": Torch::from_slice(&Vec::<Vec<f32>>::try_from(&it.floats(&[2, 3]))?.concat()),
        "f64::try_from": Torch::from(f64::try_from(&it.floats(&[1]))?),
        "double_value": Torch::from(it.floats(&[2, 3]).f_double_value(&[1, 1])?),
        "int64_value": Torch::from(it.integers(&[3]).f_int64_value(&[1])?),
        "iter": Torch::from(it.floats(&[3]).iter::<f64>()?.sum::<f64>()),
        "to_string": { it.floats(&[3]).to_string(80)?; Torch::new() },
        "print": { it.floats(&[1]).print(); Torch::new() },
        "debug": Torch::from(format!("{:?}", it.floats(&[3])).len() as i64),
        "display": Torch::from(format!("{}", it.floats(&[3])).len() as i64),
        "get": it.floats(&[2, 3]).f_get(1)?.copy(),
        "i": it.floats(&[2, 3]).i((.., 1)).copy(),
        "i by a tensor": it.floats(&[2, 3]).i(&it.longs(&[1, 0])).copy(),
        "shallow_clone": it.floats(&[3]).shallow_clone().copy(),
        "nll_loss of tch": it.floats(&[2, 3]).nll_loss(&it.longs(&[2, 0])),
        "cross_entropy_for_logits": it.floats(&[2, 3]).cross_entropy_for_logits(&it.longs(&[2, 0])),
        "accuracy_for_logits": it.floats(&[2, 3]).accuracy_for_logits(&it.longs(&[2, 0])),
        "onehot": it.longs(&[2, 0]).onehot(3),
        "random_batch": it.floats(&[4, 3]).random_batch(2).ones_like(),
        "save": { it.floats(&[3]).save(it.file("pt"))?; Torch::load(it.file("pt"))? },
        "save_to_stream": { it.floats(&[3]).save_to_stream(Vec::new())?; Torch::new() },
        "save_multi": { Torch::save_multi(&[("x", it.floats(&[3]))], it.file("pt"))?; Torch::new() },
        "write_npy": { it.floats(&[3]).write_npy(it.file("npy"))?; Torch::read_npy(it.file("npy"))? },
        "write_npz": { Torch::write_npz(&[("x", it.floats(&[3]))], it.file("npz"))?; Torch::new() },
        "write_safetensors": {
            Torch::write_safetensors(&[("x", it.floats(&[3]))], it.file("safetensors"))?;
            Torch::new()
        },
        "image::save": {
            let image = it.of(Torch::zeros([3, 4, 4], (Kind::Uint8, tch::Device::Cpu)));
            tch::vision::image::save(&image, it.file("png"))?;
            Torch::new()
        },
        "image::resize": {
            let image = it.of(Torch::zeros([3, 4, 4], (Kind::Uint8, tch::Device::Cpu)));
            tch::vision::image::resize(&image, 8, 8)?
        },
        "assignment to another tensor": { let mut to = Torch::zeros([3], CPU); to.f_copy_(&it.floats(&[3]))?; to },
        "nn::Linear": tch::nn::Module::forward(
            &tch::nn::Linear { ws: it.floats(&[4, 3]), bs: Some(it.floats(&[4])) }, &it.floats(&[2, 3])),
    }]
}

fn in_place() -> Groups {
    vec![
        unary! {
            f_abs_ f_acos_ f_acosh_ f_asin_ f_asinh_ f_atan_ f_atanh_ f_ceil_ f_celu_ f_cos_ f_cosh_ f_deg2rad_
            f_digamma_ f_elu_ f_erf_ f_erfc_ f_erfinv_ f_exp2_ f_exp_ f_expm1_ f_floor_ f_frac_ f_hardsigmoid_
            f_hardswish_ f_hardtanh_ f_i0_ f_leaky_relu_ f_lgamma_ f_log10_ f_log1p_ f_log2_ f_log_ f_logical_not_ f_mish_
            f_neg_ f_rad2deg_ f_random_ f_reciprocal_ f_relu6_ f_relu_ f_round_ f_rsqrt_ f_selu_ f_sgn_ f_sigmoid_ f_sign_
            f_silu_ f_sin_ f_sinc_ f_sinh_ f_sqrt_ f_square_ f_tan_ f_tanh_ f_trunc_ f_zero_
        },
        binary! { it: it.floats(&[3]) =>
            f_add_ f_atan2_ f_copysign_ f_div_ f_eq_tensor_ f_floor_divide_ f_fmod_tensor_ f_ge_tensor_ f_gt_tensor_
            f_heaviside_ f_hypot_ f_igamma_ f_igammac_ f_internal_add_relu_ f_ldexp_ f_le_tensor_ f_logical_and_
            f_logical_or_ f_logical_xor_ f_lt_tensor_ f_mul_ f_ne_tensor_ f_nextafter_ f_pow_tensor_ f_remainder_tensor_
            f_sub_ f_xlogy_ f_clamp_max_tensor_ f_clamp_min_tensor_
        },
        binary! { it: it.integers(&[3]) =>
            f_bitwise_and_tensor_ f_bitwise_left_shift_ f_bitwise_or_tensor_ f_bitwise_right_shift_ f_bitwise_xor_tensor_
            f_gcd_ f_lcm_
        },
        operations! { it =>
            "add_ a number": it.floats(&[3]).f_add_scalar_(1.)?,
            "bitwise_not_": it.integers(&[3]).f_bitwise_not_()?,
            "clamp_": it.floats(&[3]).f_clamp_(0., 1.)?,
            "fill_": it.floats(&[3]).f_fill_(9.)?,
            "fill_ of a tensor": it.floats(&[3]).f_fill_tensor_(&it.floats(&[]))?,
            "fill_ of a view": it.floats(&[3]).narrow(0, 1, 2).f_fill_(9.)?,
            "fill_ of a detached tensor": it.floats(&[3]).detach().f_fill_(9.)?,
            "fill_ of a reshaped tensor": it.floats(&[6]).reshape([2, 3]).f_fill_(9.)?,
            "fill_ by strides": it.floats(&[6]).as_strided([2], [2], 1).f_fill_(9.)?,
            "fill_ as another type": it.floats(&[3]).view_dtype(Kind::Int).f_fill_(9)?,
            "fill_ of the real part": it.complexes(&[3]).real().f_fill_(9.)?,
            "fill_ of a tensor that was set": {
                let sealed = it.floats(&[3]);
                Torch::zeros([1], CPU).f_set_source_tensor_(&sealed)?.f_fill_(9.)?
            },
            // A lazy clone could be written in place once it is the only one.
            "fill_ of a lazy clone": it.floats(&[3]).f_internal_lazy_clone()?.f_fill_(9.)?,
            "fill_diagonal_": it.floats(&[3, 3]).f_fill_diagonal_(9., false)?,
            "copy_": { let mut to = it.floats(&[3]); to.f_copy_(&it.floats(&[3]))?; to },
            "copy_ of another type": { let mut to = it.floats(&[3]); to.f_copy_(&it.integers(&[3]))?; to },
            "addmm_": it.floats(&[2, 2]).f_addmm_(&it.floats(&[2, 3]), &it.floats(&[3, 2]))?,
            "addmv_": it.floats(&[2]).f_addmv_(&it.floats(&[2, 3]), &it.floats(&[3]))?,
            "addr_": it.floats(&[2, 3]).f_addr_(&it.floats(&[2]), &it.floats(&[3]))?,
            "baddbmm_": it.floats(&[1, 2, 2]).f_baddbmm_(&it.floats(&[1, 2, 3]), &it.floats(&[1, 3, 2]))?,
            "addcdiv_": it.floats(&[3]).f_addcdiv_(&it.floats(&[3]), &it.floats(&[3]))?,
            "addcmul_": it.floats(&[3]).f_addcmul_(&it.floats(&[3]), &it.floats(&[3]))?,
            "bernoulli_": it.floats(&[3]).f_bernoulli_float_(0.5)?.f_ones_like()?,
            "cauchy_": it.floats(&[3]).f_cauchy_(0., 1.)?.f_ones_like()?,
            "cumprod_": it.floats(&[3]).f_cumprod_(0, None)?,
            "cumsum_": it.floats(&[3]).f_cumsum_(0, None)?,
            "dropout_": it.floats(&[3]).f_dropout_(0.5, true)?.f_ones_like()?,
            "embedding_renorm_": it.floats(&[4, 3]).f_embedding_renorm_(&it.longs(&[2, 0]), 0.1, 2.)?,
            "exponential_": it.floats(&[3]).f_exponential_(1.)?.f_ones_like()?,
            "geometric_": it.floats(&[3]).f_geometric_(0.5)?.f_ones_like()?,
            "gelu_": it.floats(&[3]).f_gelu_("none")?,
            "index_add_": it.floats(&[3]).f_index_add_(0, &it.longs(&[2, 0]), &it.floats(&[2]))?,
            "index_copy_": it.floats(&[3]).f_index_copy_(0, &it.longs(&[2, 0]), &it.floats(&[2]))?,
            "index_fill_": it.floats(&[3]).f_index_fill_(0, &it.longs(&[2, 0]), 9.)?,
            "index_put_": it.floats(&[3]).f_index_put_(&[Some(it.longs(&[2, 0]))], &it.floats(&[2]), false)?,
            "index_put_, adding": it.floats(&[3]).f_index_put_(&[Some(it.longs(&[2, 0]))], &it.floats(&[2]), true)?,
            "index_reduce_": it.floats(&[3]).f_index_reduce_(0, &it.longs(&[2, 0]), &it.floats(&[2]), "amax", true)?,
            "lerp_": it.floats(&[3]).f_lerp_tensor_(&it.floats(&[3]), &it.floats(&[3]))?,
            "log_normal_": it.floats(&[3]).f_log_normal_(0., 1.)?.f_ones_like()?,
            "logit_": it.floats(&[3]).f_logit_(0.1)?,
            "masked_fill_": it.floats(&[3]).f_masked_fill_tensor_(&it.booleans(&[true, false, true]), &it.floats(&[]))?,
            "masked_scatter_": it.floats(&[3]).f_masked_scatter_(&it.booleans(&[true, false, true]), &it.floats(&[3]))?,
            "nan_to_num_": it.floats(&[3]).f_nan_to_num_(0., None, None)?,
            "normal_": it.floats(&[3]).f_normal_(0., 1.)?.f_ones_like()?,
            "polygamma_": it.floats(&[3]).f_polygamma_(1)?,
            "put_": it.floats(&[3]).f_put_(&it.longs(&[2, 0]), &it.floats(&[2]), false)?,
            "renorm_": it.floats(&[2, 3]).f_renorm_(2., 0, 0.1)?,
            "scatter_": it.floats(&[3]).f_scatter_(0, &it.longs(&[2, 0]), &it.floats(&[2]))?,
            "scatter_add_": it.floats(&[3]).f_scatter_add_(0, &it.longs(&[2, 0]), &it.floats(&[2]))?,
            "scatter_reduce_": it.floats(&[3]).f_internal_scatter_reduce_(
                0, &it.longs(&[2, 0]), &it.floats(&[2]), "amax", true)?,
            "threshold_": it.floats(&[3]).f_threshold_(0.5, 0.)?,
            "tril_": it.floats(&[3, 3]).f_tril_(0)?,
            "triu_": it.floats(&[3, 3]).f_triu_(0)?,
            "uniform_": it.floats(&[3]).f_uniform_(0., 1.)?.f_ones_like()?,
            "an optimiser's step": {
                let mut leaf = it.floats(&[3]).detach().f_set_requires_grad(true)?;
                leaf.f_sum(None)?.f_backward()?;
                let gradient = leaf.grad();
                tch::no_grad(|| leaf.f_sub_(&gradient))?.detach()
            },
        },
    ]
}

fn through_references() -> Groups {
    vec![operations! { it =>
        "abs to out": { let out = it.floats(&[3]); it.floats(&[3]).f_abs_out(&out)? },
        "add to out": { let out = it.floats(&[3]); it.floats(&[3]).f_add_out(&out, &it.floats(&[3]))? },
        "argmax to out": { let out = it.longs(&[0, 0]); it.floats(&[2, 3]).f_argmax_out(&out, 1, false)? },
        "cat to out": { let out = it.floats(&[4]); Torch::f_cat_out(&out, &[it.floats(&[1]), it.floats(&[3])], 0)? },
        "copy to out": { let out = it.floats(&[3]); it.floats(&[3]).f_clone(&out)? },
        "cumsum to out": { let out = it.floats(&[3]); it.floats(&[3]).f_cumsum_out(&out, 0, None)? },
        "fill to out": { let out = it.floats(&[3]); it.floats(&[3]).f_fill_tensor_out(&out, &it.floats(&[]))? },
        "gather to out": {
            let out = it.floats(&[2]);
            it.floats(&[3]).f_gather_out(&out, 0, &it.longs(&[2, 0]), false)?
        },
        "index_select to out": { let out = it.floats(&[2]); it.floats(&[3]).f_index_select_out(&out, 0, &it.longs(&[2, 0]))? },
        "inverse to out": { let out = it.definite(); it.definite().f_inverse_out(&out)? },
        "matmul to out": { let out = it.floats(&[2, 2]); it.floats(&[2, 3]).f_matmul_out(&out, &it.floats(&[3, 2]))? },
        "mm to out": { let out = it.floats(&[2, 2]); it.floats(&[2, 3]).f_mm_out(&out, &it.floats(&[3, 2]))? },
        "mv to out": { let out = it.floats(&[2]); it.floats(&[2, 3]).f_mv_out(&out, &it.floats(&[3]))? },
        "ones to out": { let out = it.floats(&[3]); Torch::f_ones_out(&out, [3])? },
        "rand to out": { let out = it.floats(&[3]); Torch::f_rand_out(&out, [3])?.f_ones_like()? },
        "softmax to out": { let out = it.floats(&[3]); it.floats(&[3]).f_softmax_int_out(&out, 0, None)? },
        "sum to out": { let out = it.floats(&[2]); it.floats(&[2, 3]).f_sum_intlist_out(&out, 1, false, None)? },
        "zeros to out": { let out = it.floats(&[3]); Torch::f_zeros_out(&out, [3])? },
        "zeros to a larger out": { let out = it.floats(&[3]); Torch::f_zeros_out(&out, [2])? },
        "batch_norm's running mean": {
            let mean = it.floats(&[3]);
            it.floats(&[2, 3, 4]).f_batch_norm(
                None::<Torch>, None, Some(mean), Some(it.floats(&[3])), true, 0.1, 1e-5, false)?
        },
        "batch_norm's running variance": {
            let variance = it.floats(&[3]);
            it.floats(&[2, 3, 4]).f_batch_norm(
                None::<Torch>, None, Some(it.floats(&[3])), Some(variance), true, 0.1, 1e-5, false)?
        },
        "instance_norm's running mean": {
            let mean = it.floats(&[3]);
            it.floats(&[2, 3, 4]).f_instance_norm(
                None::<Torch>, None, Some(mean), Some(it.floats(&[3])), true, 0.1, 1e-5, false)?
        },
        "batch_norm_update_stats": {
            let mean = it.floats(&[3]);
            it.floats(&[2, 3, 4]).f_batch_norm_update_stats(Some(mean), Some(it.floats(&[3])), 0.1)?.0
        },
        "fake quantisation's running minimum": {
            let (minimum, maximum) = (it.floats(&[1]), it.floats(&[1]));
            let (scale, zero) = (it.floats(&[1]), it.of(Torch::from_slice(&[0i32])));
            let (observe, quantize) = (it.longs(&[1]), it.longs(&[1]));
            it.floats(&[2, 3]).f_fused_moving_avg_obs_fake_quant(
                &observe, &quantize, &minimum, &maximum, &scale, &zero, 0.1, 0, 255, 0, false, false)?
        },
    }]
}
